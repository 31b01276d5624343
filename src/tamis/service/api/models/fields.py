"""Fields that several models share, and the base of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    NaiveDatetime,
    PrivateAttr,
    model_validator,
)

from tamis.errors import SubscriptionError
from tamis.segments.fields import with_event_type

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\u0000]+$")]
"""What a tenant may call a thing."""
Text = Annotated[str, Field(max_length=1_000, pattern=r"^[^\u0000]*$")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0.001, le=1e9)]
Priority = Annotated[int, Field(ge=-(2**31), lt=2**31)]
ConditionText = Annotated[
    str, Field(max_length=1_000_000, description="A SQL WHERE clause, or what the dialect says.")
]
DialectName = Annotated[str, Field(min_length=1, max_length=50, description="Of the condition; sql by default.")]
SubscriberName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^/\u0000]+$",
        description="Who gets one message about an event for all its subscriptions; null to stand alone.",
    ),
]


def _check_time_text(value: object) -> object:
    """Let only texts be times: pydantic takes numbers for seconds or milliseconds since 1970, as it guesses."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    msg = "expected a time, such as 2026-07-01T12:00:00Z"
    raise ValueError(msg)


Moment = Annotated[AwareDatetime | NaiveDatetime, BeforeValidator(_check_time_text)]
"""A time; in UTC if it has no zone."""
DigestSeconds = Annotated[
    Seconds, Field(description="Of a webhook: at most one message in so many seconds, with counts and the first.")
]


class RequestModel(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class TypedRequestModel(RequestModel):
    """The body of a request about an event type, which may be called `type`, as it was once."""

    _has_old_name: bool = PrivateAttr(default=False)

    @property
    def has_old_name(self) -> bool:
        """Was the event type called `type`?"""
        return self._has_old_name

    @model_validator(mode="wrap")
    @classmethod
    def _rename(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        has_old_name = False
        if isinstance(given, Mapping):
            try:
                given, has_old_name = with_event_type(given)
            except SubscriptionError as error:
                raise ValueError(str(error)) from error
        made = handler(given)
        made._has_old_name = has_old_name
        return made
