"""`tamis subs import` and `tamis subs export`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.store import Store
from tests.cli.conftest import EXAMPLES, Run, Write

CAMERA = str(EXAMPLES / "camera.json")


CAMERAS = str(EXAMPLES / "cameras.jsonl")


@pytest.fixture(autouse=True)
def _no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAMIS_STORE", raising=False)


@pytest.fixture
def store(run: Run, tmp_path: Path) -> Iterator[Store]:
    """The store that commands use if nobody says otherwise."""
    with Store.open(tmp_path / "tamis.db") as store:
        yield store


def test_import_takes_files_in_one_version(run: Run, store: Store) -> None:
    run("subs", "type", CAMERA)
    outcome = run("subs", "import", CAMERAS)
    assert (outcome.code, outcome.err) == (0, "")
    assert (
        outcome.out
        == "store version 2: 8 added, 0 replaced, 0 edited, 0 unchanged, 0 refused\n  8 to event type camera\n"
    )
    assert run("subs", "import", CAMERAS, "--replace", "--json").json == [
        {
            "store_version": 2,
            "added": 0,
            "replaced": 0,
            "edited": 0,
            "unchanged": 8,
            "event_types": {"camera": 8},
            "refused": 0,
        }
    ]
    assert (store.get("bargain").owner, store.get("bargain").event_type) == ("ines", "camera")


def test_what_is_refused_is_named_with_its_place(run: Run, write: Write, store: Store) -> None:
    first = write("first.jsonl", [{"id": "a", "condition": "x <"}, {"id": "b", "condition": "x = 1"}, {"id": 3}])
    second = write(
        "second.jsonl",
        [{"id": "b", "condition": "x = 2"}, {"id": "c", "condition": "x = 1", "expires": "soon"}],
    )
    outcome = run("subs", "import", first, second)
    assert outcome.code == 1
    assert outcome.out == (
        "store version 1: 1 added, 0 replaced, 0 edited, 0 unchanged, 4 refused\n"
        "  1 to event type event, which is schemaless: names of attributes are not checked\n"
    )
    said = [line for line in outcome.err.splitlines() if not line.startswith(" ")]
    assert said == [
        "first.jsonl:1: subscription 'a' is refused:",
        "first.jsonl:3: subscription '3' is refused:",
        "second.jsonl:1: subscription 'b' is refused:",
        "second.jsonl:2: subscription 'c' is refused:",
    ]
    assert "there is already a subscription 'b', at first.jsonl:2" in outcome.err
    assert "expires: expected a time, such as 2026-07-01T12:00:00Z, found 'soon'" in outcome.err
    refused = [json.loads(line) for line in run("subs", "import", first, "--json").err.splitlines()]
    assert [(each["subscription_id"], each["line"]) for each in refused] == [("a", 1), ("b", 2), ("3", 3)]


def test_every_format_has_the_fields_of_the_store(run: Run, write: Write, store: Store, tmp_path: Path) -> None:
    write(
        "a.csv",
        'id,condition,label,expires\na,x = 1,A,3000-01-01\nb,"x =\n2",,\nc,x = 3,C,3000-01-01T01:00+01:00\n',
    )
    pq.write_table(
        pa.table({"id": ["d", "e"], "condition": ["x = 4", "x = 5"], "valid_from": [datetime(3000, 1, 1), None]}),
        tmp_path / "b.parquet",
    )
    lines = '{"id": "f", "condition": "x = 6", "label": "F", "expires": "3000-01-01T00:00Z"}\nx = 7\n'
    outcome = run("subs", "import", "a.csv", "b.parquet", "-", "--type", "event", input=lines)
    assert outcome.code == 0, outcome.err
    then = datetime(3000, 1, 1, tzinfo=UTC)
    assert [(each.id, each.label, each.valid_from, each.expires) for each in store.list()] == [
        ("2", None, None, None),
        ("a", "A", None, then),
        ("b", None, None, None),
        ("c", "C", None, then),
        ("d", None, then, None),
        ("e", None, None, None),
        ("f", "F", None, then),
    ]


def test_a_backup_of_a_store_has_everything(run: Run, store: Store) -> None:
    run("subs", "type", CAMERA)
    later = datetime(3000, 1, 1, tzinfo=UTC)
    store.add("on", "price < 1", event_type="camera", owner="ö", label="l", priority=-7, expires=later)
    store.add("off", "x = 1", event_type="event")
    store.pause("off")
    store.add("off later", "x = 1", event_type="event", valid_from=later)
    store.pause("off later")
    store.add("later", "x = 1", event_type="event", valid_from=later)
    assert run("subs", "export", "-o", "all.jsonl", "--types", "types.jsonl").code == 0
    restored = run("subs", "import", "all.jsonl", "--types", "types.jsonl", "--store", "copy.db")
    assert (restored.code, restored.err) == (0, "")
    with Store.open("copy.db", create=False) as copy:
        anew: dict[str, Any] = {"created": later, "changed": later}
        assert [replace(each, **anew) for each in copy.list()] == [replace(each, **anew) for each in store.list()]
        assert copy.event_types() == store.event_types()
        assert {each.id: each.state for each in copy.list()} == {
            "on": "active",
            "off": "paused",
            "off later": "paused",
            "later": "waiting",
        }


@pytest.mark.parametrize("text", ["{", "[]", '{"name": 1}'])
def test_types_that_are_none_are_named(run: Run, write: Write, text: str) -> None:
    files = [write("all.jsonl", ""), "--types", write("types.jsonl", f"\n{text}\n")]
    outcome = run("subs", "import", *files)
    assert outcome.code == 2
    assert outcome.err.startswith("tamis: error: ")
    assert not Path("tamis.db").exists()


@pytest.mark.slow
def test_export_and_import_are_a_round_trip(run: Run, store: Store) -> None:
    run("subs", "type", CAMERA)
    run("subs", "import", CAMERAS)
    later = datetime(3000, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
    store.add(
        "odd \n'\"\\ ü🎈",
        "x = 'é\n' ",
        event_type="event",
        owner="ö",
        label="l",
        priority=-7,
        valid_from=later,
        expires=later + timedelta(1),
    )
    exported = run("subs", "export")
    assert exported.code == 0
    assert run("subs", "export", "--output", "all.jsonl").out == ""
    run("subs", "type", CAMERA, "--store", "copy.db")
    assert run("subs", "import", "all.jsonl", "--store", "copy.db").code == 0
    assert run("subs", "export", "--store", "copy.db").out == exported.out
    assert run("subs", "import", "-", "--replace", "--json", input=exported.out).json[0]["unchanged"] == 9


def test_import_takes_documents_of_a_percolator_index(run: Run, write: Write, store: Store) -> None:
    lines = [
        '{"_id": "cheap", "_source": {"query": {"range": {"price": {"lt": 300}}}, "team": "a"}}',
        '{"_id": "new", "_source": {"query": {"bool": {"must_not": {"exists": {"field": "used"}}}}}}',
        '{"_id": "near", "_source": {"query": {"span_near": {}}}}',
    ]
    outcome = run("subs", "import", write("queries.jsonl", "\n".join(lines)), "--dialect", "percolator")
    assert outcome.code == 1
    assert "2 added" in outcome.out
    assert "the query 'span_near' is not supported" in outcome.err
    stored = {each.id: (each.dialect, each.condition) for each in store.list()}
    assert stored == {
        "cheap": ("percolator", '{"range": {"price": {"lt": 300}}}'),
        "new": ("percolator", '{"bool": {"must_not": {"exists": {"field": "used"}}}}'),
    }


def test_dialects_survive_export_and_import(run: Run, store: Store, write: Write) -> None:
    rules = write(
        "rules.jsonl",
        [{"id": "r", "condition": {"state": ["on"]}}, {"id": "s", "condition": "x = 1", "dialect": "sql"}],
    )
    assert run("subs", "import", rules, "--dialect", "eventbridge").code == 0
    assert run("subs", "add", "j", "color = 'red'", "--dialect", "jms").code == 0
    exported = run("subs", "export").out
    assert "dialect" not in json.loads(exported.splitlines()[-1])
    again = run("subs", "import", write("all.jsonl", exported), "--store", "other.db", "--json")
    assert again.json[0]["added"] == 3
    with Store.open("other.db") as other:
        assert {each.id: each.dialect for each in other.list()} == {"j": "jms", "r": "eventbridge", "s": "sql"}
    events = write("events.jsonl", [{"state": "on", "color": "red"}])
    pairs = run("match", "--subscriptions", "other.db", "--events", events).json
    assert sorted(pair["subscription_id"] for pair in pairs) == ["j", "r"]
    found = run("explain", "--subscriptions", "other.db", "--id", "r", "--events", events, "--event", "0")
    assert '"state": ["on"]' in found.out
