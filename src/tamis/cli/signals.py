"""Signal handlers for the duration of a command."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def handle_signals(handler: Callable[[int], None], *numbers: signal.Signals) -> Iterator[None]:
    """Call `handler` with the number of each of these signals; afterwards, restore the previous handlers."""
    before = {number: signal.signal(number, lambda received, _: handler(received)) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
