"""The line buffer: whole lines, read no further than needed, the rest of a line too long never kept."""

from __future__ import annotations

import io
import json
from typing import IO, Any

import pytest

from tamis.events.line_buffer import LineBuffer
from tamis.events.reading import read_json_lines


class Dribble(io.RawIOBase):
    """A stream that gives a few bytes at a time and counts them."""

    def __init__(self, content: bytes, step: int) -> None:
        self.content, self.step, self.given = content, step, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self.content[self.given : self.given + min(self.step, len(buffer))]
        buffer[: len(part)] = part
        self.given += len(part)
        return len(part)


class OnlyLines:
    """A source that can only be read by `readline`."""

    def __init__(self, content: bytes) -> None:
        self.file = io.BytesIO(content)

    def readline(self, size: int = -1) -> bytes:
        return self.file.readline(size)


def lines_of(file: IO[bytes], limit: int = 100, at_a_time: int = 3) -> list[bytes]:
    """All lines, taken a few at a time."""
    buffer = LineBuffer(file, limit)
    found: list[bytes] = []
    while True:
        buffer.fill(at_a_time)
        starts, ends = (bounds[:at_a_time].tolist() for bounds in buffer.bounds(0))
        if not starts:
            return found
        found += [buffer.block[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]
        buffer.take(min(ends[-1] + 1, buffer.used), len(starts))


@pytest.mark.parametrize("content", [b"", b"\n", b"a", b"a\n", b"a\n\nbc\r\n", b"one\ntwo\nthree\nfour\nfive"])
@pytest.mark.parametrize("step", [1, 2, 1_000])
def test_lines_are_those_of_the_content(content: bytes, step: int) -> None:
    expected = content.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert lines_of(io.BufferedReader(Dribble(content, step))) == expected


def test_of_a_line_too_long_one_byte_more_than_the_limit_is_kept() -> None:
    content = b"x" * 5_000 + b"\nshort\n" + b"y" * 11
    assert lines_of(io.BufferedReader(Dribble(content, 64)), limit=10) == [b"x" * 11, b"short", b"y" * 11]


def test_a_stream_is_read_no_further_than_needed() -> None:
    stream = Dribble(b'{"a": 1}\n' * 100, 9)
    reader = read_json_lines(io.BufferedReader(stream, 1), batch_rows=3, _scan=True)
    assert len(next(reader.batches)) == 3
    assert stream.given == 27


@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_a_stream_in_small_pieces_gives_the_same_events(step: int) -> None:
    texts = [json.dumps({"a": number, "b": "x" * number}) for number in range(40)]
    content = "\n".join([*texts, "", "no event", "y" * 500, *texts]).encode()
    options: dict[str, Any] = {"batch_rows": 7, "max_line_bytes": 450}
    reader = read_json_lines(io.BufferedReader(Dribble(content, step)), **options, _scan=True)
    plain = read_json_lines(content, **options, _scan=False)
    found, expected = ([batch.column(("a",)).to_list() for batch in each] for each in (reader, plain))
    assert found == expected
    assert reader.dead_letters == plain.dead_letters


def test_a_source_that_only_has_lines_is_read() -> None:
    source: Any = OnlyLines(b'{"a": 1}\nx\n{"a": 2}')
    reader = read_json_lines(source, _scan=True)
    assert [value for batch in reader for value in batch.column(("a",)).to_list()] == [1, 2]
    assert [each.line_number for each in reader.dead_letters] == [2]
