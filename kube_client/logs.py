"""Log lines of a process: a constant message, then key=value. Configures nothing by itself."""

import logging
import re
import time

_PAIRS = re.compile(r" (?=[a-z_]+=)")
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


class KeyValue(logging.Formatter):
    """time=… level=… msg=… and then the pairs that the message carries; always exactly one line."""

    def __init__(self) -> None:
        super().__init__()
        self._second = 0
        self._stamp = ""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record as one line."""
        second = int(record.created)
        if second != self._second:
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        message, *pairs = _PAIRS.split(record.getMessage(), maxsplit=1)
        parts = [f"time={self._stamp}.{int(record.msecs):03d}Z", f"level={record.levelname.lower()}"]
        parts += [f"msg={quoted(message)}", *pairs]
        if record.exc_info:
            parts.append(f"trace={quoted(self.formatException(record.exc_info))}")
        return _CONTROL.sub(_escaped, " ".join(parts))


def quoted(value: object) -> str:
    """Write a value so that it stays one value: in quotes unless it is a plain word."""
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def configure(level: str = "INFO") -> None:
    """Send every logger's lines to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(KeyValue())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # One line a request would drown the decisions.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _escaped(control: re.Match[str]) -> str:
    return control[0].encode("unicode_escape").decode()
