"""Keywords in texts, and texts that are nearly alike.

Keywords are found by an automaton a list, so the time for a text does not depend on how many keywords there are.
They are found inside words too: `refund` is in `refunded`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.operators.library.support import check_table, file_lines, import_extra, raise_problems, unknown_name
from tamis.operators.registry import Operator, OperatorError
from tamis.values.column import Value
from tamis.values.types import BOOLEAN, DOUBLE, STRING

_SCORERS = (
    "ratio",
    "partial_ratio",
    "token_sort_ratio",
    "token_set_ratio",
    "partial_token_sort_ratio",
    "partial_token_set_ratio",
    "WRatio",
)


def operators(
    *,
    lists: Mapping[str, Sequence[str] | str | Path] | None = None,
    ignore_case: bool = True,
    scorer: str = "ratio",
) -> list[Operator]:
    """`matches_any` and `fuzzy`.

    Args:
        lists: The keywords of each list, or the file that has them, one a line.
        ignore_case: Are capital and small letters the same?
        scorer: How alike two texts are, as RapidFuzz has it: `ratio` compares them as wholes, `partial_ratio` the
            shorter one with the best part of the longer, `token_sort_ratio` and `token_set_ratio` their words.

    Raises:
        OperatorError: A package is not installed, or a list or the scorer cannot be used.
    """
    if scorer not in _SCORERS:
        msg = f"{unknown_name('scorer', scorer, _SCORERS)}; known are {', '.join(_SCORERS)}"
        raise OperatorError(msg)
    keywords = _Keywords(import_extra("ahocorasick", "text"), _read_lists(lists or {}), ignore_case)
    likeness = _Likeness(import_extra("rapidfuzz", "text"), scorer, ignore_case)
    return [
        Operator(
            "matches_any",
            (STRING, STRING),
            BOOLEAN,
            keywords.matches_any,
            cost=2e-6,
            check=keywords.check,
            description="Does one keyword of a named list, or more, occur in a text?",
        ),
        Operator(
            "fuzzy",
            (STRING, STRING),
            DOUBLE,
            likeness.fuzzy,
            cost=2e-6,
            description="How alike a text is to the one sought: 0 for not at all, 1 for the same.",
        ),
    ]


class _Keywords:
    """An automaton for each list of keywords."""

    def __init__(self, ahocorasick: Any, lists: Mapping[str, Sequence[str]], ignore_case: bool) -> None:
        self._ignore_case = ignore_case
        self._automata: dict[str, Any] = {}
        for name, keywords in lists.items():
            automaton = ahocorasick.Automaton(ahocorasick.STORE_LENGTH)
            for keyword in keywords:
                automaton.add_word(_plain(keyword, ignore_case))
            automaton.make_automaton()
            self._automata[name] = automaton

    def matches_any(self, text: pa.StringArray, keywords: pa.StringArray) -> list[bool | None]:
        """Is a keyword in each text? NULL for an unknown list."""
        pairs = zip(text.to_pylist(), keywords.to_pylist(), strict=True)
        return [self._has_keyword(each, self._automata.get(name)) for each, name in pairs]

    def check(self, arguments: Sequence[Value | None]) -> str | None:
        """What is wrong with a constant name of a list."""
        name = arguments[1]
        return (
            None if name is None or name in self._automata else unknown_name("keyword list", name, self._automata)
        )

    def _has_keyword(self, text: str, automaton: Any) -> bool | None:
        if automaton is None:
            return None
        return next(automaton.iter(_plain(text, self._ignore_case)), None) is not None


class _Likeness:
    """A scorer of RapidFuzz."""

    def __init__(self, rapidfuzz: Any, scorer: str, ignore_case: bool) -> None:
        self._compare = rapidfuzz.process.cpdist
        self._scorer = getattr(rapidfuzz.fuzz, scorer)
        self._ignore_case = ignore_case

    def fuzzy(self, text: pa.StringArray, sought: pa.StringArray) -> Any:
        """How alike the two texts of each row are."""
        texts, others = (
            [_plain(each, self._ignore_case) for each in array.to_pylist()] for array in (text, sought)
        )
        return self._compare(texts, others, scorer=self._scorer, dtype=np.float64) / 100


def _plain(text: str, ignore_case: bool) -> str:
    return text.casefold() if ignore_case else text


def _read_lists(lists: Mapping[str, Sequence[str] | str | Path]) -> dict[str, Sequence[str]]:
    """The keywords of each list."""
    found: dict[str, Sequence[str]] = {}
    problems: list[str] = []
    for name, given in check_table("lists", lists).items():
        keywords = file_lines(given) if isinstance(given, (str, Path)) else given
        if not isinstance(keywords, Sequence) or not all(isinstance(each, str) for each in keywords):
            problems.append(f"{name!r}: expected keywords or the file that has them, found {given!r}")
        elif not keywords:
            problems.append(f"{name!r}: there is no keyword in it")
        elif "" in keywords:
            problems.append(f"{name!r}: a keyword is empty")
        else:
            found[name] = keywords
    raise_problems("keyword lists", problems)
    return found
