"""Readiness, and a restored backup."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from tamis.service.api.models.subscriptions import RefusalAnswer


class ReadyAnswer(BaseModel):
    """Whether events are matched as soon as they are published.

    `state` is that of the stream, `since` when it came into that state, `waits_for` what it waits for while it
    warms up. A stream that the service does not run itself is "elsewhere".
    """

    ready: bool
    state: Literal["warming up", "running", "failed", "stopped", "elsewhere", "stopping"]
    since: datetime | None = None
    waits_for: str | None = None


class RestoreAnswer(BaseModel):
    """How many records of a backup were restored, by kind, and which were refused."""

    tenant: int
    token: int
    event_type: int
    advertisement: int
    subscriber: int
    link: int
    subscription: int
    refusals: list[RefusalAnswer]
