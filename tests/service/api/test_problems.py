"""Errors become answers by their types and kinds; a message may be reworded without changing a status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tamis.errors import EventError, SubscriptionError, TamisError
from tamis.service.accounts import AccountError
from tamis.service.api.problems import answer_of
from tamis.service.errors import Conflict, Forbidden, NotFound, Overloaded, QuotaExceeded, Unauthorized
from tamis.service.ingestion import PublishError
from tamis.service.webhooks.records import WebhookError
from tamis.sql.database import DatabaseError
from tamis.store import StoreError
from tests.filesystems import small_disk
from tests.service.api.running import Tenant, problem, running

MISLEADING = "there is no subscription 'x'; there is already one"


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (NotFound(MISLEADING), 404, "not-found"),
        (Conflict(MISLEADING), 409, "conflict"),
        (Unauthorized(MISLEADING), 401, "unauthorized"),
        (Forbidden(MISLEADING), 403, "forbidden"),
        (QuotaExceeded(MISLEADING), 403, "quota"),
        (Overloaded(MISLEADING, 2.0), 503, "unavailable"),
        (Overloaded(MISLEADING, 2.0, 429), 429, "rate"),
        (SubscriptionError(MISLEADING), 422, "invalid"),
        (SubscriptionError("gone for good", "unknown", "a"), 404, "not-found"),
        (SubscriptionError("never declared", "unknown event type", event_type="t"), 404, "not-found"),
        (SubscriptionError("choose another", "exists", "a"), 409, "conflict"),
        (WebhookError(MISLEADING), 422, "invalid"),
        (WebhookError(MISLEADING, "unwanted"), 422, "invalid"),
        (WebhookError(MISLEADING, "expired"), 422, "invalid"),
        (WebhookError("never parked", "unknown"), 404, "not-found"),
        (PublishError([(1, MISLEADING)]), 422, "invalid"),
        (EventError(MISLEADING), 422, "invalid"),
        (AccountError(MISLEADING), 422, "invalid"),
        (TamisError(MISLEADING), 422, "invalid"),
        (DatabaseError(MISLEADING), 503, "unavailable"),
        (DatabaseError(MISLEADING, "read-only"), 503, "unavailable"),
        (DatabaseError(MISLEADING, "full"), 503, "full"),
        (StoreError(MISLEADING), 503, "unavailable"),
        (StoreError(MISLEADING, "full"), 503, "full"),
        (RuntimeError(MISLEADING), 500, "internal"),
    ],
)
def test_the_status_depends_on_the_kind_and_not_on_the_message(error: Exception, status: int, kind: str) -> None:
    answer = answer_of(error)
    said = json.loads(bytes(answer.body))
    assert (answer.status_code, said["type"].rpartition("/")[2]) == (status, kind)
    if isinstance(error, DatabaseError | RuntimeError):
        assert MISLEADING not in said["detail"], "what is wrong inside is for the log"


def test_a_full_disk_is_said_to_who_writes_and_reading_goes_on(tmp_path: Path) -> None:
    event, subscription = {"id": "e", "x": 1}, {"id": "s", "condition": "x = 1"}
    long = f"x IN ({', '.join(map(str, range(1_000, 9_000)))})"
    with small_disk(tmp_path / "disk") as disk, running(disk.folder / "data") as served:
        tenant = served.tenant()
        disk.fill()
        for answer in (
            tenant.publish.post("/v1/events", json={**event, "more": "y" * 100_000}),
            tenant.subscribe.post("/v1/subscriptions", json={**subscription, "condition": long}),
        ):
            said = problem(answer, 503, "full")
            assert str(tmp_path) not in answer.text
            assert said["detail"] == "the disk of a database is full; nothing was written"
            assert answer.headers["retry-after"]
        assert tenant.subscribe.get("/v1/subscriptions").json()["items"] == []
        disk.clear()
        assert tenant.publish.post("/v1/events", json=event).status_code < 300
        assert tenant.subscribe.post("/v1/subscriptions", json=subscription).status_code < 300


def test_what_is_wrong_with_a_receiver_is_said_in_the_names_of_the_tenant(tenant: Tenant) -> None:
    given = {"id": "s", "condition": "true", "delivery": {"kind": "webhook", "url": "http://10.0.0.1/x"}}
    said = problem(tenant.subscribe.post("/v1/subscriptions", json=given), 422, "invalid")
    assert said["detail"].startswith("webhook of subscription 's': the address 10.0.0.1 is not public")
    assert tenant.name not in said["detail"]


def test_a_method_that_a_path_does_not_have_is_answered_with_those_that_it_has(tenant: Tenant) -> None:
    answer = tenant.admin.put("/v1/subscriptions/s")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, PATCH")
