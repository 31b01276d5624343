"""Conditions and events to be tried are bounded."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tamis.service.api.models import conditions


@pytest.mark.parametrize(
    ("model", "given", "place"),
    [
        (conditions.TestWanted, {"condition": "x", "last": 0}, "last"),
        (conditions.TestWanted, {"condition": "x", "last": 10_001}, "last"),
        (conditions.TestWanted, {"condition": "x" * 1_000_001}, "condition"),
        (conditions.EventsMatchWanted, {"events": []}, "events"),
        (conditions.EventsMatchWanted, {"events": [{}] * 10_001}, "events"),
        (conditions.EventGiven, {"event_id": "a\0b"}, "event_id"),
    ],
)
def test_what_is_beyond_the_bounds_is_named(model: type[BaseModel], given: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(given)
    assert [each["loc"][0] for each in caught.value.errors()] == [place]
