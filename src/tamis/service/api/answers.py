"""Records of the service as answers: plain mappings, which the models describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic_core import to_json

from tamis.errors import ConditionError
from tamis.matcher import Refusal
from tamis.service.feed import Notification
from tamis.service.inbox import Accepted
from tamis.service.judging import problems_of
from tamis.service.names import outside
from tamis.service.webhooks.records import Attempt, Webhook
from tamis.store import Change, Stored
from tamis.store.records import moment


def subscription(stored: Stored, webhook: Webhook | None) -> dict[str, Any]:
    """A subscription and how it is delivered."""
    answer = asdict(stored)
    del answer["owner"]
    return answer | {"delivery": delivery(webhook)}


def delivery(webhook: Webhook | None) -> dict[str, Any]:
    """How notifications come."""
    if webhook is None:
        return {"kind": "pull"}
    return {"kind": "webhook", "url": webhook.url, "state": webhook.state, "reason": webhook.reason}


def change(of: Change) -> dict[str, Any]:
    """A change of a subscription."""
    answer = asdict(of)
    del answer["owner"]
    return answer


def refusals(of: Sequence[Refusal]) -> list[dict[str, Any]]:
    """Subscriptions that are refused."""
    found = []
    for each in of:
        error = each.error
        problems = problems_of(error.text, error.problems) if isinstance(error, ConditionError) else []
        found.append({"id": each.id, "detail": str(error), "problems": problems})
    return found


def notifications(of: Sequence[Notification]) -> list[dict[str, Any]]:
    """Matches."""
    return [asdict(each) for each in of]


def event(of: Accepted) -> dict[str, Any]:
    """A published event."""
    names = {"id": outside(of.id), "event_type": outside(of.event_type)}
    return {"number": of.number, **names, "at": of.at, "event": of.event()}


def event_text(of: Accepted, **more: Any) -> bytes:
    """A published event as JSON, itself as it came: with all digits, and whatever else Python would not keep."""
    names = {"number": of.number, "id": outside(of.id), "event_type": outside(of.event_type), "at": of.at}
    return with_text({**names, **more}, "event", of.value)


def with_text(answer: dict[str, Any], name: str, text: bytes | None) -> bytes:
    """A mapping as JSON, with one more field that is JSON already."""
    return b'%s,"%s":%s}' % (to_json(answer)[:-1], name.encode(), b"null" if text is None else text)


def attempts(of: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Calls of a webhook."""
    return [{**asdict(each), "at": moment(each.at)} for each in of]
