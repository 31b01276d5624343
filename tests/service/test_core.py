"""The parts of a service, opened once: the first token, what is old, and whether it is ready."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis.service.core import Service
from tamis.service.settings import ServiceSettings
from tamis.service.webhooks.records import DeliveryAttempt, Transition
from tamis.store.records import now_us
from tests.service.living import arrival
from tests.service.webhooks.feeds import Feed


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(ServiceSettings(data=str(tmp_path / "data"), stream=False, keep_events_days=1e-9))
    yield made
    made.close()


def test_the_first_token_is_made_once_and_only_its_owner_can_read_it(service: Service) -> None:
    file = service.first_token()
    assert file is not None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    caller = service.accounts.caller(file.read_text().strip())
    assert caller is not None
    assert caller.may("admin")
    assert service.first_token() == file
    file.unlink()
    assert service.first_token() is None, "there is a token, though nobody has its text"


def test_tidying_forgets_what_is_old_and_done(service: Service) -> None:
    service.inbox.append([arrival("default", name, {}) for name in ("a", "b")])
    service.tidy()
    assert service.inbox.waiting() == 2, "nothing is forgotten that the stream has not read"
    service.inbox.begin(service.inbox.end())
    service.inbox.finish()
    service.tidy()
    assert service.inbox.get(["default/a"]) == {}


def test_what_webhooks_leave_behind_does_not_grow_without_bound(tmp_path: Path, database_url: str) -> None:
    short: dict[str, Any] = {"keep_feed_days": 1e-9, "keep_attempts_days": 1e-9}
    service = Service(ServiceSettings(data=str(tmp_path / "data"), stream=False, feed=database_url))
    hurried = Service(ServiceSettings(data=str(tmp_path / "other"), stream=False, feed=database_url, **short))
    try:
        service.subscriptions.subscribe(
            "default",
            {"condition": "x > 0", "id": "s", "delivery": {"kind": "webhook", "url": "https://x.example/"}},
        )
        hook = service.webhooks.get("default/s")
        assert hook is not None
        feed = Feed(service.feed.database)
        ids = feed.write(*["default/s"] * 50)
        for seq, id in enumerate(ids, 1):
            call = DeliveryAttempt(id, "default/s", now_us(), 0.1, 12, 500, "answered 500", "failed")
            service.webhooks.record([Transition(call, hook.created, seq, "park")])
        service.webhooks.replay(ids[0])
        rows = {"tamis_feed": 50, "tamis_attempts": 50, "tamis_failed": 50}
        assert _rows_of(service, *rows) == rows
        service.tidy()
        assert _rows_of(service, "tamis_attempts", "tamis_failed") == {"tamis_attempts": 50, "tamis_failed": 1}, (
            "these notifications are of 2023; the last of the feed is kept, whatever its age"
        )
        hurried.tidy()
        assert _rows_of(service, *rows) == {"tamis_feed": 1, "tamis_attempts": 0, "tamis_failed": 1}
    finally:
        service.close()
        hurried.close()


def _rows_of(service: Service, *tables: str) -> dict[str, int]:
    with service.feed.database.reading() as connection:
        query = "SELECT count(*) FROM {}"
        return {name: connection.exec_driver_sql(query.format(name)).scalar_one() for name in tables}


def test_tidying_cuts_the_log_of_changes(tmp_path: Path) -> None:
    service = Service(ServiceSettings(data=str(tmp_path), stream=False, keep_changes_days=1e-9))
    try:
        service.subscriptions.subscribe("default", {"id": "a", "condition": "x = 1"})
        assert len(service.store.history("default/a")) == 1
        service.tidy()
        assert service.store.history("default/a") == []
        assert "default/a" in service.store
    finally:
        service.close()


def test_it_is_ready_until_it_stops(service: Service) -> None:
    assert service.readiness().is_ready
    service.stopping.set()
    assert not service.readiness().is_ready
    assert service.readiness().sentence == "the service is stopping"
    asyncio.run(service.run())  # ends by itself: everything in the background stops with it
