"""The campaign `fuzz` at its smallest, and that it notices what it is there to notice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.campaigns import fuzz
from tests.campaigns.outcome import Outcome

SEED = 3
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="watches processes under /proc"),
]


def test_conditions_and_events_that_are_nearly_right_give_typed_errors_only() -> None:
    outcome = Outcome("fuzz", SEED, is_quiet=True)
    fuzz.run(outcome, texts=1_200)
    assert outcome.ok, outcome.text()
    done = outcome.figures["outcomes"]
    assert outcome.figures["items"] == sum(done.values()) == 1_200
    assert {each.partition(", ")[2] for each in done} == {"accepted", "refused", "read", "set aside"}


class Misbehaving:
    """Raises, takes more memory than it may, dies, and never comes to an end."""

    def __init__(self) -> None:
        self._kinds = [(kind, text) for kind, text in fuzz.items(SEED, 0)]

    def run(self, kind: str, text: str) -> str:
        place = self._kinds.index((kind, text))
        if place == 2:
            raise KeyError(text)
        if place == 4:
            bytearray(1 << 44)
        if place == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        while place == 8:
            pass
        return "fine"


def test_what_is_no_typed_error_and_what_is_out_of_bounds_is_reported_with_the_item() -> None:
    outcome = Outcome("fuzz", SEED, is_quiet=True)
    fuzz.run(outcome, texts=10, workers=1, seconds=0.3, trial=Misbehaving)
    items = [repr(f"{kind}: {text}") for kind, text in fuzz.items(SEED, 0)]
    raised, starved, died, slow = outcome.violations
    assert raised.startswith("KeyError: ") and raised.endswith(items[2])
    assert starved.startswith("MemoryError: ") and starved.endswith(items[4])
    assert died == f"the worker ended with -9: {items[6]}"
    assert "of CPU time" in slow and slow.endswith(items[8])
    assert outcome.figures["items"] == 10
    assert outcome.figures["out of bounds"] == 2
