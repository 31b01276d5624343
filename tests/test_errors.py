"""Errors carry their kind and parts; the message is made of them."""

from __future__ import annotations

import pickle

import pytest

from tamis.errors import ConditionError, Problem, SubscriptionError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SubscriptionError("no fields"), "no fields"),
        (SubscriptionError("priority: too high", id="a"), "subscription 'a': priority: too high"),
        (SubscriptionError(kind="unknown", id="a"), "there is no subscription 'a'"),
        (SubscriptionError("it expired", "unknown", "a"), "there is no subscription 'a'; it expired"),
        (SubscriptionError("replace it", "exists", "a"), "there is already a subscription 'a'; replace it"),
        (SubscriptionError("has 2", "event type in use", event_type="t"), "event type 't' has 2"),
        (
            SubscriptionError(kind="unknown event type", event_type="t", known=["u", "v"]),
            "there is no event type 't'; declared are u, v",
        ),
    ],
)
def test_a_subscription_error_says_what_its_parts_say(error: SubscriptionError, message: str) -> None:
    assert str(error) == message
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kind, again.id, again.known) == (message, error.kind, error.id, error.known)


def test_names_are_replaced_in_the_parts_and_nowhere_else() -> None:
    error = SubscriptionError("x/a is no name of ours", "unknown event type", "x/a", "x/t", ["x/u", "y/v"])
    seen = error.with_names(lambda name: name.removeprefix("x/") if name.startswith("x/") else None)
    assert (seen.kind, seen.id, seen.event_type, seen.known) == (error.kind, "a", "t", ("u",))
    assert seen.detail == error.detail


def test_problems_of_a_condition_are_in_the_order_of_its_text() -> None:
    error = ConditionError("a <\nb", [Problem("second", 4, 5), Problem("first", 2, 3, hint="mend it")])
    assert [problem.message for problem in error.problems] == ["first", "second"]
    assert str(error) == (
        "line 1, column 3: first\n  a <\n    ^\n  hint: mend it\nline 2, column 1: second\n  b\n  ^"
    )
