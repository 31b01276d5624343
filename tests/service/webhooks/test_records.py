"""What webhooks are made of, and errors about them in other names."""

from __future__ import annotations

import pickle

from tamis.service.webhooks.records import WebhookError


def test_an_error_names_the_subscription_as_it_is_told_to() -> None:
    error = WebhookError("the address is not public", subscription_id="acme/s")
    assert str(error) == "webhook of subscription 'acme/s': the address is not public"
    assert str(error.with_names(str.upper)) == "webhook of subscription 'ACME/S': the address is not public"
    assert str(WebhookError("none", "unknown").with_names(str.upper)) == "none"


def test_the_kind_survives_another_name_and_pickling() -> None:
    error = pickle.loads(pickle.dumps(WebhookError("gone", "expired", "acme/s"))).with_names(str.upper)
    assert (error.kind, error.detail, error.subscription_id) == ("expired", "gone", "ACME/S")
