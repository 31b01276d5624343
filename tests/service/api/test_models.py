"""Models of requests: nothing is passed over, and what no database holds is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tamis.service.api.models import NewSubscription, RequestModel, RightsGiven


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


def test_every_body_refuses_fields_that_it_does_not_have() -> None:
    kinds = RequestModel.__subclasses__()
    assert kinds
    for kind in kinds:
        assert kind.model_config["extra"] == "forbid"
        assert kind.model_json_schema()["additionalProperties"] is False


def test_no_limit_is_null_and_not_zero() -> None:
    assert RightsGiven(subscriptions=None).subscriptions is None
    with pytest.raises(ValidationError):
        RightsGiven(subscriptions=0)
