"""Ending a subscription sends again what it covered."""

from __future__ import annotations

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner_covering import BITTNER


def test_messages_are_counted_with_what_is_forwarded_again() -> None:
    outcome = BITTNER.rows["B43"].measure(Bench("smallest"))
    ours = {each.what: each.ours for each in outcome.figures}
    assert ours["pruned: messages"] == ours["not optimised: messages"] == (4.0,), "one to each other broker"
    assert set(ours) >= {"covered: messages", "conjunctive: messages", "covered: changes of indexes"}
