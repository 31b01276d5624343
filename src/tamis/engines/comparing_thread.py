"""The thread in which engines are compared beside matches: for an index, for as long as a comparison takes.

Nobody waits for it. A process that ends tells it to stop and waits until it looks (`check`), because kernels must
not run while the interpreter and their memory go away. A child of a fork has none, and may begin one.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

_is_ending = threading.Event()
_threads: WeakSet[ComparingThread] = WeakSet()
"""Those of this process that began one."""


class EndingError(Exception):
    """Raised by `check` in a comparison when the process ends."""


def check() -> None:
    """Raise `EndingError` if the process ends: a comparison calls it between its steps."""
    if _is_ending.is_set():
        raise EndingError


class ComparingThread:
    """At most one thread at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    @property
    def is_under_way(self) -> bool:
        thread = self._thread
        return thread is not None and thread.is_alive()  # Python ends those that a fork leaves behind

    def begin(self, work: Callable[[], None]) -> None:
        """Do some work beside the caller, who sees to it that none is under way; `EndingError` ends it."""
        if _is_ending.is_set():
            return

        def run() -> None:
            with suppress(EndingError):
                work()

        # A daemon, so that a process that ends waits for it in `_stop_all` only, where it is told to stop.
        self._thread = threading.Thread(target=run, name="tamis auto", daemon=True)
        _threads.add(self)
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is about to end, or there are too many threads
            self._thread = None

    def wait(self) -> None:
        """Wait for what is under way."""
        thread = self._thread
        if thread is not None:
            thread.join()


@atexit.register
def _stop_all() -> None:
    _is_ending.set()
    for each in list(_threads):
        with suppress(KeyboardInterrupt):  # whoever presses Ctrl-C again does not want to wait
            each.wait()
