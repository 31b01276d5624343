"""An advertisement is a condition with a publisher."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tamis.service.api.models.events import AdvertisementGiven


def test_an_advertisement_is_a_condition_of_a_publisher() -> None:
    given = AdvertisementGiven.model_validate({"condition": "price > 100", "token": "t1"})
    assert (given.condition, given.dialect, given.token) == ("price > 100", "sql", "t1")
    with pytest.raises(ValidationError):
        AdvertisementGiven.model_validate({"condition": "price > 100", "token": "a/b"})
