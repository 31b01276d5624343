"""Conditions that are tried: checked, tested, explained, matched at once."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tamis.service.api.models.fields import ConditionText, DialectName, Name, RequestModel


class ConditionGiven(RequestModel):
    """A condition to look at."""

    condition: ConditionText
    dialect: DialectName = "sql"
    event_type: Name | None = None


class TestWanted(ConditionGiven):
    """A condition to be tried on recent events, or on events given here."""

    last: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    events: Annotated[list[dict[str, Any]], Field(max_length=10_000)] | None = None


class EventGiven(RequestModel):
    """An event, or the id of a published one."""

    event: dict[str, Any] | None = None
    event_id: Annotated[str, Field(max_length=600, pattern=r"^[^\u0000]*$")] | None = None
    event_type: Name | None = None


class ExplanationWanted(EventGiven):
    """A condition or a subscription, and an event or the id of one."""

    condition: ConditionText | None = None
    dialect: DialectName = "sql"
    subscription: Name | None = None


class MatchesWanted(EventGiven):
    """An event or the id of one, to be matched with the subscriptions of its type."""


class EventsMatchWanted(RequestModel):
    """One or many events, to be matched with the subscriptions of their type."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"events": [{"price": 199}, {"price": 900}]}]})

    events: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=10_000)]
    event_type: Name | None = None


class MatchesAnswer(BaseModel):
    """The ids of those of so many subscriptions that an event satisfies."""

    event_type: str
    subscriptions: int
    ids: list[str]


class EventsMatchAnswer(BaseModel):
    """For each event, the ids of those of so many subscriptions that it satisfies.

    `left_out` has the ids that were not tried: composite subscriptions, and those that their event type refuses.
    """

    event_type: str
    subscriptions: int
    matches: list[list[str]]
    left_out: list[str]


class FindingsAnswer(BaseModel):
    """What there is to say of a condition."""

    findings: list[dict[str, Any]]


class TestAnswer(BaseModel):
    """What a condition would have matched, and for how many events it is unknown."""

    events: int
    matched: int
    ids: list[str]
    unknown: int


class ExplanationAnswer(BaseModel):
    """Why, or why not."""

    verdict: bool | None
    reason: str
    tree: dict[str, Any]
    text: str
    calls: list[dict[str, Any]] = []
