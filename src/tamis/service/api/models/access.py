"""Tokens, their rights, and tenants."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tamis.service.accounts import Conformity
from tamis.service.api.models.fields import Name, Rate, RequestModel, Text


class NewToken(RequestModel):
    """A token to be made."""

    role: Literal["publish", "subscribe", "admin"] | None = None
    roles: list[Literal["publish", "subscribe", "admin"]] = Field(default_factory=list)
    label: Text = ""
    tenant: Name | None = None


class RightsGiven(RequestModel):
    """What a tenant may use; null is no limit, and what is not named is as for every new tenant."""

    subscriptions: Annotated[int, Field(ge=1)] | None = 1_000_000
    requests_per_second: Rate | None = None
    events_per_second: Rate | None = None
    matches_per_minute: Annotated[int, Field(ge=1)] | None = None
    operators: list[str] | None = None
    conformity: Annotated[
        Conformity, Field(description="What becomes of events that are not as their publishers advertise.")
    ] = "off"


class TokenAnswer(BaseModel):
    """A token. `token`, its text, is in the answer that makes it and in no other."""

    id: str
    tenant: str
    roles: list[str]
    label: str
    created: datetime
    token: str | None = None


class TokensAnswer(BaseModel):
    """All tokens of a tenant."""

    items: list[TokenAnswer]


class TenantAnswer(BaseModel):
    """A tenant and what it may use."""

    name: str
    rights: RightsGiven


class TenantsAnswer(BaseModel):
    """All tenants."""

    items: list[TenantAnswer]
