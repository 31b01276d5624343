"""Batches of scanned lines: so many events each, with the numbers of their lines."""

from __future__ import annotations

import io
import json
from typing import Any

from tamis.events.json_lines import scanned_batches
from tamis.events.line_buffer import LineBuffer


def batches(
    content: bytes, rows: int, **limits: int
) -> tuple[list[tuple[list[int], list[Any]]], list[tuple[int, bytes, bool]]]:
    """Line numbers and values of `a` of each batch, and the lines that were not scanned."""
    left: list[tuple[int, bytes, bool]] = []

    def read(number: int, line: bytes, too_long: bool) -> dict[str, Any] | None:
        left.append((number, line, too_long))
        return {"a": "read"} if line.startswith(b"{") and not too_long else None

    found = scanned_batches(LineBuffer(io.BytesIO(content), 30), rows, read, json.loads)
    return [(numbers.tolist(), list(source.objects.values("a"))) for source, numbers in found], left


def test_batches_have_so_many_events_and_the_numbers_of_their_lines() -> None:
    content = b'{"a":0}\n\n{"a":2}\nnone\n{"a":4}\n{"a":5}\n{"a":6}\n'
    found, left = batches(content, 2)
    assert found == [([0, 2], [0, 2]), ([4, 5], [4, 5]), ([6], [6])]
    assert left == [(3, b"none", False)]


def test_a_batch_of_long_lines_has_fewer_events() -> None:
    long = b"x" * 100_000
    content = b"".join(b'{"a":%d, "b":"%b"}\n' % (number, long) for number in range(60)) + b'none\n{"a":60}'
    lines = LineBuffer(io.BytesIO(content), 200_000)
    found = [*scanned_batches(lines, 1_000_000, lambda *_: None, json.loads, batch_bytes=300_000)]
    assert len(found) > 10
    assert max(len(source.objects.block) for source, _ in found) < 1_000_000
    assert [number for _, numbers in found for number in numbers.tolist()] == [*range(60), 61]
    assert [value for source, _ in found for value in source.objects.values("a")] == [*range(61)]


def test_lines_that_the_scan_leaves_are_read_one_by_one_in_order() -> None:
    content = b'{"a":0}\n{"\\u0061":1}\n{"a":"' + b"x" * 40 + b'"}\n{"a":3}'
    found, left = batches(content, 10)
    assert found == [([0, 1, 3], [0, "read", 3])]
    assert [(number, too_long) for number, _, too_long in left] == [(1, False), (2, True)]


def test_lines_without_an_event_are_not_kept() -> None:
    lines = LineBuffer(io.BytesIO(b"\n" * 300_000 + b'{"a": 1}\n'), 100)
    ((source, numbers),) = scanned_batches(lines, 1000, lambda *_: None, json.loads)
    assert numbers.tolist() == [300_000]
    assert len(source.objects.block) < 100_000
