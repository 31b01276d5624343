"""The memtable: subscriptions that were added lately and are in no index yet, matched one by one.

A reader of version v sees the entries that were appended before v and not deleted up to v. Entries are appended
and marked as deleted, never moved, so that a reader of an older version keeps the slots that it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tamis.arrays import Mask
from tamis.engines.base import Matches
from tamis.engines.forest import forest_of
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.segments.records import Subscription
from tamis.segments.segment import NEVER
from tamis.verification.residuals import split_formula
from tamis.verification.verifier import CallPolicy, CallVerifier


class HasSubscription(Protocol):
    """Anything that knows its subscription: slots of pairs are resolved through it."""

    @property
    def subscription(self) -> Subscription: ...


class MemtableEntry:
    """A subscription with its formula, split where it calls operators.

    Attributes:
        formula: What holds if every call is taken for granted.
        rest: What decides the calls; None if there are none.
        deleted: The version that deleted it, NEVER if none did.
    """

    __slots__ = ("deleted", "formula", "rest", "subscription")

    def __init__(self, subscription: Subscription, formula: Formula) -> None:
        self.subscription = subscription
        self.formula, self.rest = split_formula(formula)
        self.deleted = NEVER


def match_entries(entries: Sequence[MemtableEntry], version: int, frame: Frame, policy: CallPolicy) -> Matches:
    """The pairs of the entries that a version has; the slot of an entry is its place."""
    living = [(slot, entry) for slot, entry in enumerate(entries) if entry.deleted > version]
    shared: dict[Formula, Mask] = {}  # equal sub-formulas are computed once
    rows, slots = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for slot, entry in living:
        here = np.flatnonzero(entry.formula.mask(frame, shared)).astype(np.int32)
        rows.append(here)
        slots.append(np.full(len(here), slot, np.int32))
    candidates = Matches(np.concatenate(rows), np.concatenate(slots))
    verifier = verifier_of([(slot, entry.rest) for slot, entry in living if entry.rest is not None])
    return candidates if verifier is None else verifier.verify(frame, candidates, policy)


def verifier_of(calling: Sequence[tuple[int, Formula]]) -> CallVerifier | None:
    """What decides the calls of operators in these slots; None if there are none."""
    if not calling:
        return None
    return CallVerifier(
        np.array([slot for slot, _ in calling], np.int64), forest_of([rest for _, rest in calling])
    )
