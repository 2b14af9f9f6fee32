"""Reads JSON and, where it is none, says so in the words of Go's scanner."""

from gpu_scheduler.kube_config import go_text
from gpu_scheduler.kube_config.trees import Document, Items, Members, Number, Tree, Unreadable

BLANK = " \t\r\n"
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
HEX = "0123456789abcdefABCDEF"
DEEPEST = 10_000


def read(text: str) -> Document:
    """Read the one value that the text must be."""
    scanner = _Scanner(text)
    try:
        tree = scanner.value()
    except RecursionError as error:
        raise Unreadable("exceeded max depth") from error
    scanner.skip_blank()
    if scanner.at < len(text):
        raise scanner.unexpected("after top-level value")
    return Document(tree, text)


class _Scanner:
    """A place in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def unexpected(self, where: str) -> Unreadable:
        """Say what stands at this place and where that is."""
        if self.at >= len(self.text):
            return Unreadable("unexpected end of JSON input")
        # Go looks at bytes: of a letter beyond ASCII it shows the first one.
        letter = chr(self.text[self.at].encode("utf-8", "surrogatepass")[0])
        shown = {"'": "'\\''", '"': "'\"'"}.get(letter, f"'{go_text.quoted(letter)[1:-1]}'")
        return Unreadable(f"invalid character {shown} {where}")

    def peek(self) -> str:
        """Return the next letter; empty at the end."""
        return self.text[self.at : self.at + 1]

    def skip_blank(self) -> None:
        """Go on to the next letter that means something."""
        while self.peek() and self.peek() in BLANK:
            self.at += 1

    def take(self, letters: str, where: str) -> str:
        """Take one of these letters."""
        letter = self.peek()
        if not letter or letter not in letters:
            raise self.unexpected(where)
        self.at += 1
        return letter

    def value(self) -> Tree:
        """Take a value."""
        self.skip_blank()
        match self.peek():
            case "{":
                return self._members()
            case "[":
                return self._items()
            case '"':
                return self._string()
            case "t":
                return self._literal("true", True)
            case "f":
                return self._literal("false", False)
            case "n":
                return self._literal("null", None)
        return self._number()

    def _members(self) -> Members:
        self.at += 1
        pairs: list[tuple[str, Tree]] = []
        self.skip_blank()
        while not (self.peek() == "}" and not pairs):
            self.skip_blank()
            if self.peek() != '"':
                raise self.unexpected("looking for beginning of object key string")
            name = self._string()
            self.skip_blank()
            self.take(":", "after object key")
            pairs.append((name, self.value()))
            self.skip_blank()
            if self.take(",}", "after object key:value pair") == "}":
                return Members(tuple(pairs))
        self.at += 1
        return Members(())

    def _items(self) -> Items:
        self.at += 1
        values: list[Tree] = []
        self.skip_blank()
        while not (self.peek() == "]" and not values):
            values.append(self.value())
            self.skip_blank()
            if self.take(",]", "after array element") == "]":
                return Items(tuple(values))
        self.at += 1
        return Items(())

    def _literal(self, word: str, meant: bool | None) -> bool | None:
        self.at += 1
        for letter in word[1:]:
            self.take(letter, f"in literal {word} (expecting '{letter}')")
        return meant

    def _number(self) -> Number:
        start = self.at
        sign = self.peek() == "-"
        self.at += sign
        self._digits("in numeric literal" if sign else "looking for beginning of value", whole=True)
        if self.peek() == ".":
            self.at += 1
            self._digits("after decimal point in numeric literal")
        if self.peek() in ("e", "E"):
            self.at += 1
            self.at += self.peek() in ("+", "-")
            self._digits("in exponent of numeric literal")
        return Number(self.text[start : self.at])

    def _digits(self, where: str, whole: bool = False) -> None:
        first = self.take("0123456789", where)
        while not (whole and first == "0") and self.peek() and self.peek() in "0123456789":
            self.at += 1

    def _string(self) -> str:
        self.at += 1
        letters: list[str] = []
        while (letter := self.peek()) != '"':
            if not letter or letter < " ":
                raise self.unexpected("in string literal")
            self.at += 1
            letters.append(self._escape() if letter == "\\" else letter)
        self.at += 1
        joined = "".join(letters)
        return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _escape(self) -> str:
        if self.peek() != "u":
            return ESCAPES[self.take("".join(ESCAPES), "in string escape code")]
        self.at += 1
        digits = "".join(self.take(HEX, "in \\u hexadecimal character escape") for _ in range(4))
        return chr(int(digits, 16))
