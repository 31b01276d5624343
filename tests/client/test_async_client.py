"""What only the client for asyncio can do: much at once, and stop in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from tamis.client import AsyncClient, Notification
from tests.client.clients import QUICK
from tests.client.server import STREAM, Fault, Served


@pytest.fixture
def asked(served: Served, token: str) -> AsyncClient:
    return AsyncClient(served.url, token=token, retries=QUICK)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


async def requested(served: Served, path: str, count: int = 1) -> None:
    while len(served.requests(path)) < count:
        await asyncio.sleep(0.005)


def test_many_tasks_share_a_client(asked: AsyncClient, served: Served) -> None:
    async def work() -> None:
        async with asked as client:
            served.faults += [Fault("/v1/subscriptions", 503, {"Retry-After": "0"}) for _ in range(3)]
            await asyncio.gather(*(client.subscribe(f"x = {n}", id=f"s{n:02}") for n in range(20)))
            assert [each.id async for each in client.subscriptions(page=7)] == [f"s{n:02}" for n in range(20)]

    run(work())


def test_events_may_come_one_by_one_over_time(asked: AsyncClient, served: Served) -> None:
    async def events() -> AsyncIterator[dict[str, int]]:
        for number in range(5):
            await asyncio.sleep(0)
            yield {"id": number}

    async def work() -> None:
        async with asked as client:
            assert (await client.publish(events(), chunk=2)).accepted == 5
            assert len(served.requests("/v1/events")) == 3
            answers = [each async for each in client.publish_chunks(events(), chunk=4)]
            assert [(each.accepted, each.repeated) for each in answers] == [(0, 4), (0, 1)]

    run(work())


def test_a_stream_is_followed_while_events_are_published(asked: AsyncClient, served: Served) -> None:
    async def follow(client: AsyncClient, count: int) -> list[Notification]:
        found: list[Notification] = []
        async with client.tail(0) as feed:
            async for notification in feed:
                found.append(notification)
                if len(found) == count:
                    break
        return found

    async def work() -> None:
        async with asked as client:
            await client.subscribe("x >= 0", id="all")
            served.cuts.extend([3, 0, 2])
            following = asyncio.create_task(follow(client, 20))
            for number in range(20):
                await client.publish({"id": number, "x": number})
                await asyncio.to_thread(served.match)
            found = await following
            assert [each.event_id for each in found] == [str(number) for number in range(20)]

    run(work())


def test_a_stream_that_is_cancelled_gives_its_connection_back(asked: AsyncClient, served: Served) -> None:
    async def work() -> None:
        async with asked as client:
            for count in range(1, 4):
                feed = client.tail(0)
                waiting = asyncio.ensure_future(anext(feed))
                await requested(served, STREAM, count)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                await feed.aclose()
            assert [each async for each in client.subscriptions()] == []

    run(work())


def test_a_poll_waits_without_holding_others_up(asked: AsyncClient, served: Served) -> None:
    async def work() -> None:
        async with asked as client:
            await client.subscribe("x >= 0", id="all")
            waiting = asyncio.create_task(client.poll(0, wait_seconds=50))
            await requested(served, "/v1/notifications")
            await client.publish({"id": "e1", "x": 1})
            await asyncio.to_thread(served.match)
            assert [each.event_id for each in (await waiting).items] == ["e1"]

    run(work())
