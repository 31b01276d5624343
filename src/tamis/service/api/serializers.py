"""Records of the service as JSON answers: plain mappings of the shape that the models describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from pydantic_core import to_json

from tamis.errors import ConditionError
from tamis.matcher import Refusal
from tamis.service.feed import TenantNotification
from tamis.service.inbox import InboxEvent
from tamis.service.names import local_name
from tamis.service.testing import problems_of
from tamis.service.webhooks.records import DeliveryAttempt, Webhook, WebhookStatus
from tamis.store import ChangeLogEntry, StoredSubscription
from tamis.store.records import moment

_NOTIFICATION = tuple(field.name for field in fields(TenantNotification))


def subscription(stored: StoredSubscription, webhook: Webhook | None) -> dict[str, Any]:
    """A subscription and how it is delivered."""
    answer = asdict(stored)
    return answer | {"subscriber": answer.pop("owner"), "delivery": delivery(webhook)}


def delivery(webhook: Webhook | None) -> dict[str, Any]:
    if webhook is None:
        return {"kind": "pull"}
    state = {"state": webhook.state, "reason": webhook.reason, "since": moment(webhook.since)}
    digest = {} if webhook.digest_seconds is None else {"digest_seconds": webhook.digest_seconds}
    return {"kind": "webhook", "url": webhook.url, **state, **digest}


def webhook_status(of: WebhookStatus) -> dict[str, Any]:
    """A webhook without its secret, in the names of its tenant."""
    shown = {"subscription_id": local_name(of.webhook.subscription_id), **delivery(of.webhook)}
    del shown["kind"]
    in_a_row = {"failures": of.webhook.failures, "failed_calls": of.webhook.failed_calls}
    return shown | in_a_row | {"waiting": of.waiting, "failed": of.failed}


def change(of: ChangeLogEntry) -> dict[str, Any]:
    answer = asdict(of)
    del answer["owner"]
    return answer


def refusals(of: Sequence[Refusal]) -> list[dict[str, Any]]:
    found = []
    for each in of:
        error = each.error
        problems = problems_of(error.text, error.problems) if isinstance(error, ConditionError) else []
        found.append({"id": each.id, "detail": str(error), "problems": problems})
    return found


def notifications(of: Sequence[TenantNotification]) -> list[dict[str, Any]]:
    """Notifications, which have no fields within fields: `asdict` would copy every value."""
    return [{name: getattr(each, name) for name in _NOTIFICATION} for each in of]


def event(of: InboxEvent) -> dict[str, Any]:
    names = {"id": local_name(of.id), "event_type": local_name(of.event_type)}
    return {"number": of.number, **names, "at": of.at, "event": of.event()}


def event_text(of: InboxEvent, **more: Any) -> bytes:
    """A published event as JSON. Its own text is copied as it came, since parsing it would round numbers."""
    names = {"number": of.number, "id": local_name(of.id), "event_type": local_name(of.event_type), "at": of.at}
    return with_text({**names, **more}, "event", of.value)


def with_text(answer: dict[str, Any], name: str, text: bytes | None) -> bytes:
    """A mapping as JSON, with one more field that is JSON already."""
    return b'%s,"%s":%s}' % (to_json(answer)[:-1], name.encode(), b"null" if text is None else text)


def attempts(of: Sequence[DeliveryAttempt]) -> list[dict[str, Any]]:
    return [{**asdict(each), "at": moment(each.at)} for each in of]
