"""Cuts a stream of chunks into lines of any length, in time linear in the bytes. No I/O."""


class LineSplitter:
    """Holds the unfinished line between chunks."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk and give the lines it finished, blank ones left out."""
        # Pieces of a long line are kept apart and joined once: appending to one buffer would copy it at every chunk.
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            if chunk:
                self._unfinished.append(chunk)
            return []
        *lines, last = rest.split(b"\n")
        first = b"".join((*self._unfinished, head))
        self._unfinished = [last] if last else []
        return [line for line in (first, *lines) if line.strip()]
