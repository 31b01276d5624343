"""How webhooks are called: what is refused, and how long the waits are."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.service.webhooks.settings import DeliveryPolicy, DeliveryPolicyError


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"attempts": True},
        {"pause_after": -1},
        {"pause_calls": -1},
        {"pause_seconds": 0},
        {"concurrent": 1.5},
        {"base": 0},
        {"cap": math.inf},
        {"timeout": -1},
        {"allow": ("10.0.0.0/99",)},
    ],
)
def test_a_setting_that_is_wrong_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(DeliveryPolicyError, match=next(iter(wrong))):
        DeliveryPolicy(**wrong)


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(DeliveryPolicyError, match=r"attempts.*timeout"):
        DeliveryPolicy(attempts=0, timeout=0)


def test_waits_double_up_to_the_longest() -> None:
    policy = DeliveryPolicy(base=0.5, cap=10)
    assert [policy.longest_wait(attempt) for attempt in range(1, 8)] == [0.5, 1, 2, 4, 8, 10, 10]
