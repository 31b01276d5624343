"""Text of a page: what comes from data can be read on it, and can be nothing but text."""

from __future__ import annotations

import html


def escape(text: object) -> str:
    """The text for an element or a quoted attribute; characters that nobody sees are spelled out.

    They would otherwise break the page (NUL, half of a surrogate pair) or reorder what stands around them.
    """
    seen = "".join(
        each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode()
        for each in str(text)
    )
    return html.escape(seen, quote=True)
