"""The outbox: an event once for each link, in the order of numbers, with the batch that found it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tamis.service.feed import FeedReader
from tamis.service.peers.outbox import IN_VAIN, UNKNOWN, USEFUL, LinkTotals, Outbox, split_forwards, write_forwards
from tamis.sql.database import Database

PLACES = {"t/1": (1, ()), "t/2": (2, ("west",)), "t/3": (3, ("far", "north"))}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    reader = FeedReader(str(tmp_path / "feed.db"))
    yield reader.database
    reader.close()


def matched(*pairs: tuple[str, str]) -> pa.Table:
    events, entries = zip(*pairs, strict=True)
    return pa.table({"event_id": pa.array(events), "subscription_id": pa.array(entries)})


def write(database: Database, *pairs: tuple[str, str]) -> int:
    with database.writing() as connection:
        return write_forwards(connection, matched(*pairs), lambda ids: {id: PLACES[id] for id in ids}, 5)


def test_notifications_of_entries_are_taken_out() -> None:
    own, entries = split_forwards(matched(("t/1", "t/mine"), ("t/1", "~link/north/k")))
    assert own["subscription_id"].to_pylist() == ["t/mine"]
    assert entries["subscription_id"].to_pylist() == ["~link/north/k"]


def test_an_event_goes_once_to_each_link_and_never_where_it_has_been(database: Database) -> None:
    pairs = [
        ("t/3", "~link/south/k1"),
        ("t/1", "~link/north/k2"),
        ("t/1", "~link/north/k1"),
        ("t/2", "~link/north/k1"),
        ("t/2", "~link/west/k1"),
        ("t/3", "~link/north/k1"),
    ]
    assert write(database, *pairs) == 3
    assert write(database, *pairs) == 0
    outbox = Outbox(database)
    assert (outbox.pending("north", 9), outbox.pending("south", 9)) == ([1, 2], [3])
    assert outbox.pending("west", 9) == []
    assert [(each.link, each.entry) for each in outbox.of_event("t/1")] == [("north", "~link/north/k1")]


def test_what_is_sent_waits_for_its_outcome_and_is_forgotten_later(database: Database) -> None:
    write(database, ("t/1", "~link/north/k"), ("t/2", "~link/north/k"), ("t/1", "~link/south/k"))
    outbox = Outbox(database)
    assert outbox.totals()["north"] == LinkTotals(backlog=2, oldest=5)
    outbox.acknowledge("north", [1])
    assert (outbox.pending("north", 9), outbox.undecided("north", 9)) == ([2], [(1, "t/1")])
    assert outbox.first_unsent() == 1  # south has not got it
    outbox.acknowledge("north", [2])
    outbox.acknowledge("south", [1])
    outbox.decide("north", {1: USEFUL, 2: IN_VAIN})
    outbox.decide("south", {1: UNKNOWN})
    assert outbox.totals()["north"] == LinkTotals(forwarded=2, useful=1, in_vain=1)
    assert (outbox.first_unsent(), outbox.undecided("north", 9)) == (None, [])
    assert outbox.useful_events(["t/1", "t/9"]) == {"t/1"}
    assert outbox.forget(0, ["north"]) == 1
    assert outbox.forget(1 << 62, ["north"]) == 2
