"""A replay takes everything if nothing is said, and a webhook needs a place."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tamis.service.api.models.webhooks import ReplayWanted, SubscriberWebhook


def test_a_replay_is_of_everything_by_default() -> None:
    everything = {"subscription": None, "endpoint": None, "since": None, "until": None}
    assert ReplayWanted().model_dump() == everything


@pytest.mark.parametrize("given", [{}, {"url": ""}, {"url": "http://a", "digest_seconds": 0}])
def test_a_webhook_has_a_place_and_a_period(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SubscriberWebhook.model_validate(given)
