"""Work beside the callers: a thread that runs while there is something to do and ends when there is not.

Nobody waits for it who does not ask to. What it raises is kept, and raised once to whoever asks next; until then
it does nothing more, because it would most likely fail again. A process that ends stops it first, and a child of a
fork has none: it begins with nothing under way.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

from tamis.errors import MergeError

_log = logging.getLogger("tamis")
_workers: WeakSet[BackgroundWork] = WeakSet()
"""Those of this process that have a thread."""


class Stopped(Exception):
    """Raised by `BackgroundWork.check` in the thread that shall end; it is no error."""


class BackgroundWork:
    """Calls a function in a thread for as long as it returns True."""

    def __init__(self, step: Callable[[], bool]) -> None:
        """`step` does a piece of work, and says whether there may be more; it calls `check` now and then."""
        self._step = step
        self.reset()

    def reset(self) -> None:
        """Begin anew without a thread, in the child of a fork: that of the parent is not there."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_wanted = False
        self._is_stopping = False
        self._failure: Exception | None = None

    @property
    def is_under_way(self) -> bool:
        return self._thread is not None

    def wake(self) -> None:
        """See to it that there is a thread that looks for something to do from now on."""
        with self._changed:
            if self._failure is not None or self._is_stopping:
                return
            self._is_wanted = True
            if self._thread is None:
                # A daemon, so that a process that ends waits for it in `_stop_all` only, where it is told to stop.
                thread = threading.Thread(target=self._run, name="tamis merge", daemon=True)
                self._thread = thread
                _workers.add(self)
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is about to end, or there are too many threads
                    self._thread = None

    def check(self) -> None:
        """Raise `Stopped` if this is the thread, and it shall end."""
        if self._is_stopping and threading.current_thread() is self._thread:
            raise Stopped

    def wait(self) -> None:
        """Wait until there is nothing to do.

        Raises:
            MergeError: It failed, now or before.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None)
        self.raise_failure()

    def stop(self) -> None:
        """End the thread as soon as it calls `check`, and wait for that; `wake` may begin another one."""
        with self._changed:
            self._is_stopping = True
            self._changed.wait_for(lambda: self._thread is None)
            self._is_stopping = False

    def raise_failure(self) -> None:
        """Raise what the thread raised, once.

        Raises:
            MergeError: It did.
        """
        if self._failure is None:
            return
        with self._changed:
            failure, self._failure = self._failure, None
        if failure is not None:  # another thread may have been quicker
            what = f"{type(failure).__name__}: {failure}"
            raise MergeError(what) from failure

    def _run(self) -> None:
        failure: Exception | None = None
        while True:
            with self._changed:
                if failure is not None or self._is_stopping or not self._is_wanted:
                    self._failure = failure
                    self._thread = None
                    self._is_wanted = False
                    self._changed.notify_all()
                    return
                self._is_wanted = False
            try:
                while self._step():
                    self.check()
            except Stopped:
                continue
            except Exception as error:
                # Also told here: the process may end before anybody asks.
                _log.exception("merging segments failed; no subscription is lost, but matching may take longer")
                failure = error


@atexit.register
def _stop_all() -> None:
    """Let no thread run kernels while the interpreter and their memory go away."""
    for worker in list(_workers):
        with suppress(KeyboardInterrupt):  # whoever presses Ctrl-C again does not want to wait
            worker.stop()
