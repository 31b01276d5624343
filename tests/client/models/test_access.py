"""Tokens, rights and tenants as the service answers them."""

from __future__ import annotations

from tamis.client.decoding import decode
from tamis.client.models import Rights, Tenant, Token

TOKEN = {"id": "k", "tenant": "acme", "roles": ["publish"], "label": "", "created": "2026-07-01T12:00:00Z"}


def test_the_text_of_a_token_is_never_shown_by_accident() -> None:
    made = decode(Token, {**TOKEN, "token": "tamis_k_secret"})
    assert made.token == "tamis_k_secret"
    assert "secret" not in repr(made)
    assert decode(Token, TOKEN).token is None


def test_a_tenant_has_the_rights_that_the_service_names_and_defaults_for_the_rest() -> None:
    tenant = decode(Tenant, {"name": "acme", "rights": {"subscriptions": None, "operators": ["geo"]}})
    assert tenant.rights == Rights(subscriptions=None, operators=("geo",))
