"""Conditions behind a site: those that are matched or will be, read again only where they changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tamis.events import EventType
from tamis.service.names import link_owner
from tamis.service.peers.sources import Source, SourceTable
from tamis.store import Store

TYPE = EventType("t/event")


def conditions(found: frozenset[Source]) -> set[tuple[str | None, str]]:
    return {(each.link, each.condition) for each in found}


def test_only_what_is_matched_or_will_be_is_behind_a_site(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.set_event_type(TYPE)
        for id, owner in (("t/a", "t"), ("t/p", "t"), (f"{link_owner('north')}/k", link_owner("north"))):
            store.add(id, f"x = '{id}'", event_type="t/event", owner=owner)
        store.pause("t/p")
        store.add("t/b", "x = 't/a'", event_type="t/event", owner="t")
        table = SourceTable(store)
        assert conditions(table.read()) == {(None, "x = 't/a'"), ("north", "x = '~link/north/k'")}
        assert table.version == store.version() == 6
        assert table.held("north") == {"k": len("x = '~link/north/k'")}
        store.remove(f"{link_owner('north')}/k")
        assert table.held("north") == {}


def test_changes_are_followed_as_a_new_table_would_read_them(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.set_event_type(TYPE)
        table = SourceTable(store)
        assert table.read() == frozenset()
        steps: list[Callable[[], object]] = [
            lambda: store.add("t/a", "x = 1", event_type="t/event", owner="t"),
            lambda: store.add("t/b", "x = 1", event_type="t/event", owner="t"),
            lambda: store.replace("t/a", "y = 2"),
            lambda: store.pause("t/b"),
            lambda: store.pause("t/b", paused=False),
            lambda: store.set_event_type(EventType.from_dict({"name": "t/event", "attributes": {"x": "int"}})),
            lambda: store.set_event_type(TYPE),
            lambda: store.remove("t/a"),
            lambda: store.trim(store.version()),
            lambda: store.add("t/c", "z = 3", event_type="t/event", owner="t"),
        ]
        seen = []
        for step in steps:
            step()
            assert table.read() == SourceTable(store).read()
            seen.append(len(table.read()))
        assert seen == [1, 1, 2, 1, 2, 1, 2, 1, 1, 2]
