"""Lines of a body that arrives in pieces."""

from __future__ import annotations

from tamis.client.line_splitter import LineSplitter


def test_lines_are_cut_at_line_feeds_only() -> None:
    lines = LineSplitter()
    found = [*lines.feed('{"a": "\u2028\x85"}\r\n{"b"'.encode()), *lines.feed(b": 1}\n\n \n"), *lines.rest()]
    assert found == ['{"a": "\u2028\x85"}'.encode(), b'{"b": 1}']
