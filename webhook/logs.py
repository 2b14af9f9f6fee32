"""Log lines: a constant message, then key=value. Configures nothing by itself."""

import logging
import time
from collections.abc import Mapping
from typing import Any

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@+")


class KeyValue(logging.Formatter):
    """time=… level=… msg=… and then the record's `fields`, each value quoted where it needs to be."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record as one line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        pairs = {"time": stamp, "level": record.levelname.lower(), "msg": record.getMessage()}
        pairs |= getattr(record, "fields", {})
        if record.exc_info:
            pairs["error"] = self.formatException(record.exc_info)
        return " ".join(f"{key}={_quoted(value)}" for key, value in pairs.items())


def fields(**pairs: Any) -> Mapping[str, Any]:
    """Pack key=value pairs for `extra`."""
    return {"fields": pairs}


def settings(level: str) -> dict[str, Any]:
    """Return the logging configuration of all our loggers and gunicorn's own, for dictConfig."""
    logger = {"level": level.upper(), "handlers": ["out"], "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "root": {"level": "WARNING", "handlers": ["out"]},
        "formatters": {"line": {"()": "webhook.logs.KeyValue"}},
        "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "loggers": {"webhook": logger, "gunicorn.error": logger},
    }


def _quoted(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text and _BARE.issuperset(text):
        return text
    # Escapes control characters, so that no value can forge a line.
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'
