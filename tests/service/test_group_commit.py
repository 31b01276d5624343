"""Many submissions, few transactions: in order, each whole, each with its own results."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tamis.service.group_commit import GroupCommit
from tamis.service.inbox import Arrival, Inbox
from tests.service.living import arrival


class Log:
    """Notes the transactions; the first waits until the test lets it go on."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.go_on = threading.Event()

    def write(self, items: list[int]) -> list[str]:
        self.go_on.wait(30)
        if -1 in items:
            msg = "the disk is full"
            raise OSError(msg)
        self.groups.append(items)
        return [f"wrote {item}" for item in items]


async def submit_all(commit: GroupCommit[int, str], *items: list[int]) -> list[asyncio.Task[list[str]]]:
    """Submissions in their order; the first is on its way to the disk when the others come."""
    tasks = []
    for each in items:
        tasks.append(asyncio.create_task(commit.submit(each)))
        await asyncio.sleep(0)
    return tasks


def test_what_comes_while_one_group_is_written_is_the_next() -> None:
    log = Log()

    async def run() -> list[list[str]]:
        commit = GroupCommit(log.write)
        tasks = await submit_all(commit, [1, 2], [3], [], [4, 5])
        log.go_on.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(run()) == [["wrote 1", "wrote 2"], ["wrote 3"], [], ["wrote 4", "wrote 5"]]
    assert log.groups == [[1, 2], [3, 4, 5]]


def test_a_group_takes_no_more_than_it_may_but_each_submission_whole() -> None:
    log = Log()

    async def run() -> None:
        commit = GroupCommit(log.write, most_items=3)
        tasks = await submit_all(commit, [1], [2, 3], [4, 5, 6], [7], [8, 9])
        log.go_on.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert log.groups == [[1], [2, 3, 4, 5, 6], [7, 8, 9]]


def test_a_group_that_fails_fails_for_all_of_it_and_the_next_is_written() -> None:
    log = Log()

    async def run() -> list[list[str] | BaseException]:
        commit = GroupCommit(log.write, most_items=2)
        tasks = await submit_all(commit, [0], [1], [-1], [2])
        log.go_on.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second, third, last = asyncio.run(run())
    assert (first, last) == (["wrote 0"], ["wrote 2"])
    assert isinstance(second, OSError)
    assert isinstance(third, OSError)
    assert log.groups == [[0], [2]]


def test_who_is_cancelled_takes_nothing_back_and_closing_waits() -> None:
    log = Log()

    async def run() -> None:
        commit = GroupCommit(log.write)
        await commit.close()  # nothing was submitted
        tasks = await submit_all(commit, [1], [2])
        for task in tasks:
            task.cancel()
        log.go_on.set()
        await commit.close()
        for task in tasks:
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert log.groups == [[1], [2]]


def test_events_of_requests_that_come_together_are_in_the_inbox_once(url: str) -> None:
    inbox = Inbox(url)

    async def run() -> list[list[bool]]:
        commit: GroupCommit[Arrival, bool] = GroupCommit(inbox.append)
        requests = [[arrival("t", f"{number}", {}), arrival("t", "shared", {})] for number in range(5)]
        return await asyncio.gather(*(commit.submit(each) for each in requests))

    answers = asyncio.run(run())
    assert [each[0] for each in answers] == [True] * 5
    assert [each[1] for each in answers].count(True) == 1
    assert len(inbox.between(0, inbox.end())) == 6
    inbox.close()
