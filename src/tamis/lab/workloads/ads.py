"""`ads`: arbitrary trees in the shape of real display ads, whose predicates and sub-expressions many share.

A condition has 1 to 56 predicates and is 1 to 9 deep; a single predicate is 1 deep, each AND or OR above adds one.
It is a placement alone, which is an equality or a list on `site` or `city`; or a placement with some context and
targeting segments (`tamis.lab.workloads.segments`), joined by AND; or two of those, joined by OR. A segment may be
negated.

Of 122 attributes an event has the 12 of its context and some of 110 tags, t0, t1, ..., which are whole numbers
from 0 to 999 if their number is even and strings otherwise. A tag that an event does not have is NULL, so that
neither a predicate on it nor its negation holds. Attributes are independent of each other; values of strings and
tags follow Zipf distributions, the same for conditions and for events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64, Bools
from tamis.events.event_type import Attribute
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of
from tamis.lab.workloads.draws import Dice, Draws, cumulate, zipf
from tamis.lab.workloads.parameters import real, span, whole
from tamis.lab.workloads.segments import (
    CONTEXT,
    SCORES,
    TAGS,
    TEXTS,
    WHOLE,
    WORDS,
    PredicateSource,
    SegmentBuilder,
    tags,
    values,
)
from tamis.lab.workloads.text import NOTHING, Phrases
from tamis.values.types import INT, STRING

_PLACEMENTS = 20_000
_CONTEXTS = 200
_MOST_CONTEXTS = 3
_EXPONENT = 0.6
"""Of the Zipf distributions by which conditions choose from the pools."""

_TARGETING = cumulate([0.4, 0.35, 0.1, 0.05, 0.1])
"""Shares of: none, one segment, one negated, two that must both hold, two of which one must hold."""
_OPENS = ("", " AND (", " AND NOT (", " AND (", " AND ((")
_JOINTS = ("", "", "", ") AND (", ") OR (")
_CLOSES = ("", ")", ")", ")", "))")
_TARGETING_PIECES = 5


@dataclass(frozen=True, slots=True)
class AdsParameters:
    """The parameters of `ads`."""

    segments: int = whole(5_000, "different segments of each kind that there are", least=1, most=1_000_000)
    tags: tuple[int, int] = span((5, 11), "tags of an event, beside its context", most=27, integral=True)
    alone: float = real(0.1, "share of conditions that are one predicate")
    either: float = real(0.25, "share of the other conditions that are two, joined by OR")


class _Pool(NamedTuple):
    """Phrases to choose from, and their cumulated popularity."""

    codes: I64
    shares: F64

    def draw(self, draws: Draws, *columns: int) -> I64:
        return self.codes[draws.pick(self.shares, *columns)]


class _Pools(NamedTuple):
    placements: _Pool
    contexts: I64  # [attribute, predicate], each with " AND " before it
    any_of: _Pool  # segments that are an OR
    all_of: _Pool  # segments that are an AND


def plan(parameters: AdsParameters, seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `site = 'site12' AND hour < 8 AND (t3 = 'k1' OR (age >= 30 AND t8 < 120))`."""
    phrases = Phrases()
    pools = _pools(parameters, seed, phrases)
    signs = np.array([phrases.codes(texts) for texts in (_OPENS, _JOINTS, _CLOSES)])
    around = phrases.codes(["(", ") OR (", ")"])

    def conditions(draws: Draws) -> I64:
        kind = draws.uniform()
        alone = kind < parameters.alone
        both = kind >= 1 - (1 - parameters.alone) * parameters.either
        first, second = (_side(draws, pools, signs) for _ in range(2))
        first[alone, 1:] = NOTHING
        first[both, -_TARGETING_PIECES:] = NOTHING
        second[:, -_TARGETING_PIECES:] = NOTHING
        second[~both] = NOTHING
        opened, joined, closed = (np.where(both, sign, NOTHING) for sign in around)
        return np.column_stack([opened, first, joined, second, closed])

    return WorkloadPlan(
        event_type_of("ads", *_attributes()), phrases, conditions, lambda draws: _events(draws, parameters)
    )


def _side(draws: Draws, pools: _Pools, signs: I64) -> I64:
    """Codes of a placement, contexts, and two targetings of up to two segments each."""
    attributes = draws.subset(len(pools.contexts), _MOST_CONTEXTS)
    contexts = pools.contexts[attributes, draws.below(pools.contexts.shape[1], _MOST_CONTEXTS)]
    contexts[np.arange(_MOST_CONTEXTS) >= draws.below(_MOST_CONTEXTS + 1)[:, None]] = NOTHING
    parts = [pools.placements.draw(draws), contexts]
    for _ in range(2):
        kinds = draws.pick(_TARGETING)
        opens, joints, closes = (sign[kinds] for sign in signs)
        any_of, all_of = pools.any_of.draw(draws, 2), pools.all_of.draw(draws, 2)
        chosen = np.where((kinds == 4)[:, None], all_of, any_of)
        chosen[kinds == 0] = NOTHING
        chosen[kinds <= 2, 1] = NOTHING
        parts += [opens, chosen[:, 0], joints, chosen[:, 1], closes]
    return np.column_stack(parts)


def _pools(parameters: AdsParameters, seed: int, phrases: Phrases) -> _Pools:
    placing, telling = (PredicateSource(Dice(seed, "ads", part)) for part in ("placements", "contexts"))
    builder = SegmentBuilder(Dice(seed, "ads", "segments"))

    def pool(texts: list[str]) -> _Pool:
        return _Pool(phrases.codes(texts), zipf(len(texts), _EXPONENT))

    return _Pools(
        pool([placing.placement() for _ in range(_PLACEMENTS)]),
        np.array([phrases.codes(f" AND {telling.context(name)}" for _ in range(_CONTEXTS)) for name in CONTEXT]),
        pool([builder.segment("OR") for _ in range(parameters.segments)]),
        pool([builder.segment("AND") for _ in range(parameters.segments)]),
    )


def _attributes() -> tuple[Attribute, ...]:
    return (
        *(Attribute(name, STRING, required=True) for name in TEXTS),
        *(Attribute(name, INT, min=least, max=most, required=True) for name, (least, most) in WHOLE.items()),
        *(
            Attribute(f"t{tag}", STRING) if tag % 2 else Attribute(f"t{tag}", INT, min=0, max=SCORES - 1)
            for tag in range(TAGS)
        ),
    )


def _events(draws: Draws, parameters: AdsParameters) -> dict[str, pa.Array]:
    columns = {name: _words(draws, name, size) for name, size in TEXTS.items()}
    for name, (least, most) in WHOLE.items():
        columns[name] = pa.array((least + draws.below(most - least + 1)).astype(np.int32))
    fewest, most = parameters.tags
    counts = fewest + draws.below(most - fewest + 1)
    chosen = draws.different(tags(), most)
    absent = np.ones((draws.rows, TAGS), np.bool_)
    rows, places = np.nonzero(np.arange(most) < counts[:, None])
    absent[rows, chosen[rows, places]] = False
    for tag in range(TAGS):
        if tag % 2:
            columns[f"t{tag}"] = _words(draws, "k", WORDS, absent[:, tag])
        else:
            columns[f"t{tag}"] = pa.array(draws.below(SCORES).astype(np.int32), mask=absent[:, tag])
    return columns


def _words(draws: Draws, prefix: str, size: int, absent: Bools | None = None) -> pa.StringArray:
    every = pa.array([f"{prefix}{number}" for number in range(size)])
    return every.take(pa.array(draws.pick(values(size)), mask=absent))


ADS = Family("ads", "trees in the shape of display ads, with shared predicates and segments", AdsParameters, plan)
