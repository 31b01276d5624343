"""The kernel over a column finds the tokens that `tokenise` finds in each text."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.syntax.token_column import tokenise_column
from tamis.syntax.tokens import KEYWORDS, OPERATORS, tokenise

PIECES = [
    *KEYWORDS,
    *OPERATORS,
    "r",
    "R'",
    'r"',
    "'",
    '"',
    "`",
    "``",
    "\\\\",
    "--",
    "\n",
    "/*",
    "*/",
    " ",
    "\t",
    "?",
    "?p",
    "a",
    "é",
]
PIECES += [
    "😀",
    "\u212a",
    "\x00",
    ";",
    "#",
    "1",
    "09",
    ".5",
    "1.",
    "e3",
    "E-",
    "1e+2",
    "L",
    "bd",
    "d",
    "_",
    "x",
    "\ud800",
    "\u00a0",
    "\u2028",
    "≤",
    "\ufeff",
    "\u0301",
]
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=20))


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_a_column_has_the_tokens_of_its_texts(texts: list[str]) -> None:
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in data])]).astype(np.int64)
    column = tokenise_column(np.frombuffer(b"".join(data) or b" ", np.uint8), offsets)
    for number, text in enumerate(texts):
        part = slice(column.firsts[number], column.firsts[number + 1])
        alone = tokenise(text)
        # Ranges of the kernel are in bytes, those of one text in characters.
        places = [len(text[:at].encode("utf-8", "surrogatepass")) for at in range(len(text) + 1)]
        assert column.kinds[part].tolist() == alone.kinds
        assert column.starts[part].tolist() == [places[at] for at in alone.starts]
        assert column.ends[part].tolist() == [places[at] for at in alone.ends]
