"""Conditions and their pairs, for the tests of matching trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.lab.baselines.gryphon import Gryphon
from tamis.lab.dynamic.term_index import TermIndex
from tamis.language.condition import compile_condition


def built(texts: Sequence[str]) -> TermIndex:
    return Gryphon().build([compile_condition(text).formula for text in texts])


def inserted(texts: Sequence[str]) -> TermIndex:
    """One by one, so that levels are in the order in which attributes are met."""
    index = built([])
    for slot, text in enumerate(texts):
        put(index, slot, text)
    return index


def put(index: TermIndex, slot: int, text: str) -> None:
    """At once: what is inserted without a hurry waits for others."""
    index.insert_many(np.array([slot], np.int32), [compile_condition(text).formula])


def counts(index: TermIndex, *names: str) -> tuple[int, ...]:
    found = index.stats().counts
    return tuple(found[name] for name in names)
