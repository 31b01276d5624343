"""The sink `callback`: calls a function at least once, and remembers that it did if it has a folder for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tamis.sinks import CallbackSink, Committed, Delivery, SinkError
from tests.sinks.deliveries import delivery


def test_it_is_called_again_with_the_same_if_it_failed(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def call(made: Delivery) -> None:
        seen.append(made.notifications["event_id"].to_pylist())
        if len(seen) == 2:
            msg = "the receiver is away"
            raise ConnectionError(msg)

    sink = CallbackSink(call=call, state=tmp_path)
    sink.commit(delivery(0, [(1, 1)]))
    with pytest.raises(ConnectionError):
        sink.commit(delivery(1, [(1, 1), (2, 1)]))
    assert sink.commit(delivery(1, [(1, 1), (2, 1)])) == Committed(1, 1)
    assert seen == [["event 1 é"], ["event 2 é"], ["event 2 é"]]


def test_what_a_query_sent_that_never_committed_does_not_count(tmp_path: Path) -> None:
    def fail(_: Delivery) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        CallbackSink(call=fail, state=tmp_path).commit(delivery(5, [(1, 1)], query="given up"))
    taken: list[Delivery] = []
    assert CallbackSink(call=taken.append, state=tmp_path).commit(delivery(0, [(1, 1)])) == Committed(1, 0)


def test_without_state_every_delivery_is_handed_over() -> None:
    taken: list[Delivery] = []
    sink = CallbackSink(call=taken.append)
    sink.check()
    for _ in range(2):
        assert sink.commit(delivery(0, [(1, 1), (1, 1)])) == Committed(1, 0)
    assert [each.notifications.num_rows for each in taken] == [1, 1]


def test_old_commits_are_forgotten_but_not_what_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.sinks.callback.KEPT_COMMITS", 3)
    sink = CallbackSink(call=lambda _: None, state=tmp_path)
    for batch in (*range(85, 101), 150, 200):
        sink.commit(delivery(batch, [(batch, 1)], when=delivery(0, []).at))
    names = [path.stem.rpartition(".")[2].lstrip("0") for path in sorted((tmp_path / "commits").iterdir())]
    assert names[-1] == "200"
    assert len(names) < 8  # those that stand alone in the ledger, and the last
    assert sink.commit(delivery(201, [(batch, 1) for batch in range(85, 101)])) == Committed(0, 16)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"call": 3}, "call must be a function, found 3"),
        ({"call": print, "state": 3}, "state must be a path or URL, found 3"),
        ({"call": print, "retention": 3}, r"retention must be a duration \(timedelta\), found 3"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(SinkError, match=f"sink callback: {problem}"):
        CallbackSink(**arguments)
