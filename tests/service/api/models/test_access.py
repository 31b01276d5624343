"""What a tenant may use, and the roles of a token."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tamis.service.api.models.access import NewToken, RightsGiven


def test_no_limit_is_null_and_not_zero() -> None:
    assert RightsGiven(subscriptions=None).subscriptions is None
    with pytest.raises(ValidationError):
        RightsGiven(subscriptions=0)


def test_a_token_has_known_roles_only() -> None:
    assert NewToken().roles == []
    assert NewToken(roles=["publish", "admin"]).roles == ["publish", "admin"]
    with pytest.raises(ValidationError) as caught:
        NewToken.model_validate({"roles": ["publish", "root"]})
    assert [each["loc"] for each in caught.value.errors()] == [("roles", 1)]
