"""Escaping of texts in a page: data stays readable and never becomes markup."""

from __future__ import annotations

import html


def escape(text: object) -> str:
    """The text for an element or a quoted attribute; invisible characters become escape sequences.

    They could break the page (NUL, half of a surrogate pair) or reorder the text around them.
    """
    visible = "".join(
        each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode()
        for each in str(text)
    )
    return html.escape(visible, quote=True)
