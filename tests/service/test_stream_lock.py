"""The stream that comes second waits for the first, and says so."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from tamis.service.stream_lock import alone
from tests.service.webhooks.receiver import until


def test_who_waits_says_so_at_once_and_then_takes_over(tmp_path: Path) -> None:
    file, stop = tmp_path / "data" / "stream.lock", threading.Event()
    said: list[str] = []
    began: list[bool] = []

    def second() -> None:
        with alone(file, stop, lambda *, waits_for: said.append(waits_for)) as is_alone:
            began.append(is_alone)

    with alone(file, stop, lambda *, waits_for: said.append(waits_for)) as is_alone:
        assert is_alone
        assert said == [], "nobody else is there"
        waiting = threading.Thread(target=second)
        waiting.start()
        until(lambda: bool(said))
        assert said == [f"another stream, process {os.getpid()}, that works in {file.parent} to end"]
        assert began == []
    waiting.join()
    assert began == [True]
    assert len(said) == 1


def test_who_is_told_to_stop_waits_no_longer(tmp_path: Path) -> None:
    file, stop = tmp_path / "stream.lock", threading.Event()
    said: list[str] = []
    with alone(file, stop, lambda *, waits_for: said.append(waits_for)):
        stop.set()
        with alone(file, stop, lambda *, waits_for: said.append(waits_for)) as is_alone:
            assert not is_alone
    assert len(said) == 1
