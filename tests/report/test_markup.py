"""Escaping of texts in pages."""

from __future__ import annotations

import pytest

from tamis.report.markup import escape


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<b a='1' c=\"2\">&", "&lt;b a=&#x27;1&#x27; c=&quot;2&quot;&gt;&amp;"),
        ("a\x00b\u202ec\ud800", "a\\x00b\\u202ec\\ud800"),
        ("line\n\ttab é😀", "line\n\ttab é😀"),
        (12, "12"),
    ],
)
def test_data_stays_readable_and_never_becomes_markup(text: object, escaped: str) -> None:
    assert escape(text) == escaped
    escape(text).encode()  # valid UTF-8
