"""Hosts take turns, nobody runs twice at once, and no limit is passed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tamis.service.webhooks.host_queues import HostQueues


def test_a_job_starts_when_its_time_has_come() -> None:
    lines = HostQueues[str](concurrent=4, per_host=4)
    lines.put("late", "x", at=20)
    lines.put("early", "x", at=10)
    assert lines.next_time() == 10
    assert lines.start(now=9) == []
    assert lines.start(now=10) == ["early"]
    assert lines.next_time() == 20
    assert lines.start(now=30) == ["late"]
    assert lines.next_time() is None


def test_a_job_that_is_put_again_has_its_new_time() -> None:
    lines = HostQueues[str](concurrent=4, per_host=4)
    lines.put("a", "x", at=10)
    lines.put("a", "x", at=30)
    assert lines.start(now=20) == []
    assert lines.next_time() == 30
    lines.put("a", "x", at=5)
    assert lines.start(now=20) == ["a"]
    assert lines.start(now=40) == []


def test_a_job_that_is_put_while_it_runs_runs_once_more() -> None:
    lines = HostQueues[str](concurrent=4, per_host=4)
    lines.put("a", "x", at=0)
    assert lines.start(now=0) == ["a"]
    lines.put("a", "x", at=0)
    lines.put("a", "x", at=0)
    assert lines.start(now=0) == []
    lines.finish("a", again=50)
    assert lines.start(now=0) == ["a"]
    lines.finish("a", again=50)
    assert lines.start(now=0) == []
    assert lines.start(now=50) == ["a"]


def test_higher_priorities_come_first_at_every_host() -> None:
    lines = HostQueues[str](concurrent=1, per_host=1)
    for job, priority in (("x1", 0), ("y1", -3), ("x2", 7), ("z1", 2), ("y2", 2), ("x3", 7)):
        lines.put(job, job[0], at=0, priority=priority)
    started = lines.start(now=0)
    while lines.running:
        again = 0 if started == ["x2", "x3", "z1"] else None  # what goes on keeps its priority
        lines.finish(started[-1], again)
        started += lines.start(now=0)
    assert started == ["x2", "x3", "z1", "y2", "z1", "x1", "y1"], "equal ones take turns"


def test_hosts_take_turns() -> None:
    lines = HostQueues[str](concurrent=3, per_host=2)
    for job in ("x1", "x2", "x3", "y1", "y2", "z1"):
        lines.put(job, job[0], at=0)
    assert lines.start(now=0) == ["x1", "y1", "z1"]
    lines.finish("x1")
    lines.finish("z1")
    assert lines.start(now=0) == ["x2", "y2"]
    lines.finish("y1")
    lines.finish("y2")
    assert lines.start(now=0) == ["x3"]


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 11), st.integers(0, 9)),
        st.tuples(st.just("start"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("done"), st.integers(0, 11), st.integers(0, 9)),
    ),
    max_size=60,
)


@given(_steps, st.integers(1, 4), st.integers(1, 3))
def test_limits_hold_and_everything_put_is_started(
    steps: list[tuple[str, int, int]], concurrent: int, per_host: int
) -> None:
    lines = HostQueues[int](concurrent, per_host)
    running: set[int] = set()
    wanted: set[int] = set()

    def start(now: int) -> None:
        for job in lines.start(now):
            assert job not in running
            running.add(job)
            wanted.discard(job)
        assert len(running) == lines.running <= concurrent
        assert all(number <= per_host for number in Counter(job % 3 for job in running).values())

    for what, first, second in steps:
        if what == "put":
            lines.put(first, str(first % 3), at=second)
            wanted.add(first)
        elif what == "start":
            start(first)
        elif first in running:
            running.discard(first)
            lines.finish(first, again=second if second % 2 else None)
            if second % 2:
                wanted.add(first)
    for _ in range(40):
        start(10)
        for job in sorted(running):
            lines.finish(job)
        running.clear()
    assert not wanted
    assert lines.next_time() is None
