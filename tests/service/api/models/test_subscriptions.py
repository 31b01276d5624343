"""A new subscription: nothing is passed over, and what no database holds is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tamis.service.api.models.subscriptions import NewSubscription


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"condition": "x", "colour": 1}, "colour"),
        ({"condition": "x", "id": "a/b"}, "id"),
        ({"condition": "x", "id": ""}, "id"),
        ({"condition": "x", "label": "a\0b"}, "label"),
        ({"condition": "x", "priority": 2**31}, "priority"),
        ({"condition": "x", "valid_for": float("inf")}, "valid_for"),
        ({"condition": "x", "expires": 1_800_000_000}, "expires"),
        ({"condition": "x", "expires": "1800000000.5"}, "expires"),
        ({"condition": "x", "expires": "-2.1e-122"}, "expires"),
        ({"condition": "x", "expires": True}, "expires"),
        ({"condition": "x", "delivery": {"kind": "pigeon"}}, "delivery"),
        ({}, "condition"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as caught:
        NewSubscription.model_validate(given)
    assert [each["loc"][0] for each in caught.value.errors()] == [place]
