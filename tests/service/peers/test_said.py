"""What was announced is on disk."""

from __future__ import annotations

from pathlib import Path

from tamis.service.peers.entries import Entry
from tamis.service.peers.said import Said, SaidTable
from tamis.sql.database import Database


def test_what_was_said_over_a_link_is_read_again_until_it_is_forgotten(tmp_path: Path) -> None:
    cheap, used, gone = (Entry("t/event", text) for text in ("price < 5", "used", "title = 'x'"))
    said = Said(frozenset({cheap, used}), {gone: 7, Entry("u/event", "TRUE"): None})
    database = Database(tmp_path / "store.db")
    table = SaidTable(database)
    assert table.read("north") is None
    table.write("north", said)
    table.write("south", Said(frozenset()))
    assert SaidTable(database).read("north") == said
    table.write("north", Said(frozenset({cheap})))
    assert table.read("north") == Said(frozenset({cheap}))
    table.write("north", None)
    assert (table.read("north"), table.read("south")) == (None, Said(frozenset()))
    database.close()
