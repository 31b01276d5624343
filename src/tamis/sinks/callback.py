"""The sink `callback`: a Python function that is called with what a batch gave, at least once.

A call cannot be taken back. If the process is killed after the call and before its commit is written, the replay
calls again with the same notifications; a function that remembers `(query, batch)` or the ids can leave them out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

from tamis.sinks.base import (
    RETENTION,
    Committed,
    Delivery,
    DriverSink,
    SinkError,
    require,
    require_duration,
    without_duplicates,
)
from tamis.sinks.folder_commits import KEPT_COMMITS, FolderCommits


class CallbackSink(DriverSink):
    """Calls a function with every delivery.

    Example:
        >>> CallbackSink(call=print).describe()
        'calls of print, at least once'
    """

    name: ClassVar[str] = "callback"
    exactly_once: ClassVar[bool] = False

    def __init__(
        self,
        *,
        call: Callable[[Delivery], Any],
        state: str | os.PathLike[str] | None = None,
        retention: timedelta = RETENTION,
    ) -> None:
        """Nothing is called or touched yet.

        Args:
            call: Is called with each delivery, without what was notified before. What it raises stops the batch.
            state: The path or URL of a folder that remembers what was notified. Without it every delivery is
                handed over, repeated ones as well.
            retention: For how long a notification is remembered.

        Raises:
            SinkError: An argument is not of its type.
        """
        if not callable(call):
            msg = f"sink callback: call must be a function, found {call!r}"
            raise SinkError(msg)
        require_duration(self.name, "retention", retention)
        self._call = call
        self._commits: FolderCommits | None = None
        if state is not None:
            require(self.name, "state", state, (str, os.PathLike), "a path or URL")
            self._commits = FolderCommits(state, retention, keep=KEPT_COMMITS)

    def commit(self, delivery: Delivery) -> Committed:
        """Call the function, then remember that it was called."""
        if self._commits is not None:
            return self._commits.commit(delivery, self._call_function)
        rest = without_duplicates(delivery)
        self._call_function(rest)
        return Committed(rest.notifications.num_rows, 0)

    def check(self) -> None:
        """Could its state be written? Nothing is called."""
        if self._commits is not None:
            self._commits.check(self.name)

    def describe(self) -> str:
        return f"calls of {getattr(self._call, '__qualname__', repr(self._call))}, at least once"

    def close(self) -> None:
        """Nothing is held open."""

    def _call_function(self, delivery: Delivery) -> None:
        self._call(delivery)
