"""Signal handlers for the duration of a command."""

from __future__ import annotations

import signal

from tamis.cli.signals import handle_signals


def test_signals_are_handled_until_the_end_and_then_as_before() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    received: list[int] = []
    with handle_signals(received.append, signal.SIGUSR1, signal.SIGUSR2):
        signal.raise_signal(signal.SIGUSR2)
        signal.raise_signal(signal.SIGUSR1)
    assert received == [signal.SIGUSR2, signal.SIGUSR1]
    assert signal.getsignal(signal.SIGUSR1) is before
