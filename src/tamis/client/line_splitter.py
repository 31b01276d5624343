"""Lines of a body that arrives in pieces."""

from __future__ import annotations

from collections.abc import Iterator


class LineSplitter:
    r"""Cuts at line feeds only: JSON may have other characters that count as line ends elsewhere, as U+2028.

    >>> lines = LineSplitter()
    >>> [*lines.feed(b"one\ntw"), *lines.feed(b"o\n\nthree"), *lines.rest()]
    [b'one', b'two', b'three']
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in this piece; empty ones are left out."""
        *ended, begun = piece.split(b"\n")
        for line in ended:
            whole = b"".join([*self._pieces, line]).strip()
            self._pieces = []
            if whole:
                yield whole
        self._pieces.append(begun)

    def rest(self) -> Iterator[bytes]:
        """The last line, if it has no end."""
        whole = b"".join(self._pieces).strip()
        self._pieces = []
        if whole:
            yield whole
