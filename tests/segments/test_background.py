"""Work beside the callers: one thread, whose errors are raised once, and which ends when it is asked to."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tamis.errors import MergeError
from tamis.segments.background import BackgroundWork


def test_it_works_until_nothing_is_left() -> None:
    left = [3]

    def step() -> bool:
        left[0] -= 1
        return left[0] > 0

    work = BackgroundWork(step)
    work.wake()
    work.wait()
    assert (left, work.is_under_way) == ([0], False)
    left[0] = 1
    work.wake()
    work.wait()
    assert left == [0], "it can be woken again"


def test_what_is_asked_for_while_it_works_is_done_too() -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    steps: list[int] = []

    def step() -> bool:
        steps.append(len(steps))
        begun.set()
        assert may_go_on.wait(30)
        return False

    work = BackgroundWork(step)
    work.wake()
    assert begun.wait(30)
    work.wake()  # the step that is under way may have looked before
    may_go_on.set()
    work.wait()
    assert steps == [0, 1]


def test_an_error_is_raised_once_and_nothing_is_tried_before() -> None:
    tries: list[int] = []

    def step() -> bool:
        tries.append(1)
        msg = "no room"
        raise MemoryError(msg)

    work = BackgroundWork(step)
    work.wake()
    with pytest.raises(MergeError, match="MemoryError: no room; no subscription is lost") as raised:
        work.wait()
    assert isinstance(raised.value.__cause__, MemoryError)
    work.raise_failure()
    assert len(tries) == 1
    work.wake()
    with work._changed:
        assert work._changed.wait_for(lambda: not work.is_under_way, 30)
    work.wake()
    assert len(tries) == 2, "nobody has been told yet"
    with pytest.raises(MergeError):
        work.raise_failure()


def test_it_stops_between_two_parts_of_a_step() -> None:
    begun, may_go_on, parts = threading.Event(), threading.Event(), list[str]()

    def step() -> bool:
        begun.set()
        assert may_go_on.wait(30)
        work.check()
        parts.append("the second")
        return False

    work = BackgroundWork(step)
    work.wake()
    assert begun.wait(30)
    stopping = threading.Thread(target=work.stop)
    stopping.start()
    while not work._is_stopping:
        assert stopping.is_alive()
    work.check()  # only the thread itself ends
    may_go_on.set()
    stopping.join(30)
    assert (parts, work.is_under_way, stopping.is_alive()) == ([], False, False)


_ENDS_WHILE_IT_WORKS = """
import threading
from tamis.segments.background import BackgroundWork
begun = threading.Event()
def step():
    begun.set()
    for _ in iter(int, 1):
        work.check()
work = BackgroundWork(step)
work.wake()
begun.wait()
print("end")
"""


@pytest.mark.slow
def test_a_process_ends_while_it_works() -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", _ENDS_WHILE_IT_WORKS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "end\n", "")
