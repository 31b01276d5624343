"""The thread beside matches: one at a time, none in a child of a fork, and ended before the process is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from tamis.engines.comparing_thread import ComparingThread

ENDING = """
import threading
from tamis.engines.comparing_thread import ComparingThread, check
begun = threading.Event()
def work():
    try:
        while True:
            begun.set()
            check()
    finally:
        print("ended", flush=True)
thread = ComparingThread()
thread.begin(work)
begun.wait(30)
"""


def test_it_is_under_way_until_its_work_is_done() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert may_end.wait(30)

    thread = ComparingThread()
    assert not thread.is_under_way
    thread.begin(work)
    assert begun.wait(30)
    assert thread.is_under_way
    may_end.set()
    thread.wait()
    assert not thread.is_under_way


def test_a_process_that_ends_tells_it_to_stop_and_waits() -> None:
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("ended\n", "")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_of_a_fork_has_none() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert may_end.wait(30)

    thread = ComparingThread()
    thread.begin(work)
    assert begun.wait(30)
    child = os.fork()
    if not child:
        os._exit(thread.is_under_way)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    may_end.set()
    thread.wait()
