"""How Go writes text in messages: quoted as by %q, and as JSON. Pure formatting."""

import json

_SHORT = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_SAFE = "<>&\u2028\u2029"  # what Go's JSON encoder escapes beyond JSON's own rules


def quoted(text: str) -> str:
    """Quote as Go's %q does."""
    return f'"{"".join(_escaped(letter) for letter in text)}"'


def json_text(text: str) -> str:
    """Write a JSON string as Go's encoder does."""
    written = json.dumps(text, ensure_ascii=False)
    for letter in _SAFE:
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return written


def json_texts(texts: tuple[str, ...]) -> str:
    """Write a list of strings as Go's JSON encoder does; a list that is not there is null."""
    return f"[{','.join(map(json_text, texts))}]" if texts else "null"


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter in _SHORT:
        return _SHORT[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < ord(" ") or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
