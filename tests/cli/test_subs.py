"""`tamis subs`: what it shows, does and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.store import Store
from tests.cli.conftest import EXAMPLES, Run, Write

COMMANDS = ("add", "remove", "renew", "list", "import", "export", "history", "type")
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


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples_and_exit_codes(run: Run, command: str) -> None:
    text = run("subs", command, "--help").out
    assert "Examples:\n" in text
    assert f"  tamis subs {command}" in text
    assert "Exit code" in text


@pytest.mark.parametrize(
    "arguments", [("list",), ("remove", "a"), ("export",), ("history", "a"), ("type",), ("renew", "a", "--never")]
)
def test_a_store_that_is_not_there_is_an_error_and_not_made(
    run: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    outcome = run("subs", *arguments)
    assert (outcome.code, outcome.err) == (2, "tamis: error: tamis.db: there is no store here\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_sqlalchemy_help_works_and_a_message_says_what_to_install() -> None:
    def tamis(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; sys.modules['sqlalchemy'] = None; from tamis.cli import main; main()"
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = tamis("--help")
    assert (done.returncode, "subs" in done.stdout) == (0, True)
    done = tamis("subs", "list")
    assert done.returncode == 2
    assert done.stderr == (
        "tamis: error: the subscription store needs SQLAlchemy; install it with: pip install 'tamis[store]'\n"
    )


# --- one subscription --------------------------------------------------------------------------------------


def test_add_replace_remove(run: Run, store: Store) -> None:
    assert run("subs", "add", "a", "x < 3", "--owner", "ines", "--priority", "2").out == (
        "version 1: 'a' added, revision 1\n"
    )
    taken = run("subs", "add", "a", "x < 4")
    assert (taken.code, taken.out) == (1, "")
    assert "there is already a subscription 'a'" in taken.err
    assert run("subs", "add", "a", "x < 4", "--replace", "--json").json == [
        {"version": 2, "id": "a", "revision": 2}
    ]
    assert run("subs", "add", "a", "x < 4", "--replace").out == "version 2: 'a' unchanged, revision 2\n"
    removed = run("subs", "remove", "a", "b")
    assert (removed.code, removed.out) == (1, "version 3: 1 subscription removed\n")
    assert removed.err == "there is no subscription 'b'\n"
    assert run("subs", "remove", "b", "--json").json == [{"version": 3, "removed": 0, "unknown": ["b"]}]


def test_a_refused_condition_has_its_caret(run: Run, store: Store) -> None:
    outcome = run("subs", "add", "a", "x <")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("subscription 'a' is refused:\nline 1, column 4: ")
    assert "\n  x <\n     ^\n" in outcome.err
    problems = run("subs", "add", "a", "x <", "--json").json[0]["problems"]
    assert (problems[0]["line"], problems[0]["column"]) == (1, 4)


def test_times_are_given_as_such_or_from_now(run: Run, store: Store) -> None:
    before = datetime.now(UTC)
    assert run("subs", "add", "a", "x = 1", "--expires", "12h", "--valid-from", "2020-01-01").code == 0
    expires = store.get("a").expires
    assert expires is not None
    assert before + timedelta(hours=12) <= expires <= datetime.now(UTC) + timedelta(hours=12)
    assert run("subs", "renew", "a", "--expires", "3000-01-01T12:00Z").out == (
        "version 2: 'a' expires 3000-01-01 12:00:00\n"
    )
    assert run("subs", "renew", "a", "--never", "--json").json == [{"version": 3, "id": "a", "expires": None}]
    wrong = run("subs", "renew", "a", "--expires", "soon")
    assert wrong.code == 2
    assert "--expires: expected a time, as 2026-12-31T18:00Z, or a duration" in wrong.err
    assert run("subs", "renew", "a").err == "tamis: error: expected --expires or --never\n"
    assert "there is no subscription 'b'" in run("subs", "renew", "b", "--never").err


def test_lists(run: Run, store: Store) -> None:
    store.add("b", "x = 1\n  OR y = 2", owner="ines", expires=datetime(3000, 1, 1, tzinfo=UTC))
    store.add("a", "x = 2", label="two")
    lines = run("subs", "list").out.splitlines()
    assert lines[0].split("  ")[1] == "id"
    assert lines[1].split() == ["a", "1", "event", "0", "active", "x", "=", "2"]
    assert lines[2].split()[4:] == [*"ines active 3000-01-01 00:00:00 x = 1 OR y = 2".split()]
    rows = run("subs", "list", "--json", "--owner", "ines").json
    assert [(row["id"], row["revision"], row["state"], row["type"]) for row in rows] == [
        ("b", 1, "active", "event")
    ]
    assert [row["id"] for row in run("subs", "list", "--json", "--limit", "1", "--after", "a").json] == ["b"]
    assert [row["id"] for row in run("subs", "list", "--json", "--label", "two", "--prefix", "a").json] == ["a"]
    assert run("subs", "list", "--json", "--type", "camera").json == []


def test_history(run: Run, store: Store) -> None:
    store.add("a", "x = 1")
    store.replace("a", "x = 2")
    store.remove("a")
    rows = run("subs", "history", "a", "--json").json
    assert [(row["version"], row["kind"], row["revision"]) for row in rows] == [
        (1, "add", 1),
        (2, "replace", 2),
        (3, "remove", 2),
    ]
    lines = run("subs", "history", "a").out.splitlines()
    assert [line.split()[3] for line in lines[1:]] == ["add", "replace", "remove"]
    store.trim(3)
    outcome = run("subs", "history", "a")
    assert (outcome.code, outcome.err) == (0, "tamis: the changes up to version 2 have been cut\n")
    outcome = run("subs", "history", "b")
    assert outcome.code == 1
    assert "there is no change of a subscription 'b'" in outcome.err


# --- event types -------------------------------------------------------------------------------------------


def test_types_are_declared_and_listed(run: Run, write: Write, store: Store) -> None:
    assert run("subs", "type", CAMERA).out == "version 1: event type 'camera' declared\n"
    assert run("subs", "type").out.startswith("camera: id, brand, model, kind, ")
    assert run("subs", "type", "--json").json[0]["name"] == "camera"
    run("subs", "add", "a", "brand = 'Sony'", "--type", "camera")
    narrow = write("narrow.json", '{"name": "camera", "attributes": {"price": "int"}}')
    outcome = run("subs", "type", narrow)
    assert (outcome.code, outcome.out) == (1, "version 3: event type 'camera' declared, 1 subscription refused\n")
    assert "no attribute 'brand'" in outcome.err
    assert run("subs", "list", "--json").json[0]["state"] == "refused"
    assert run("subs", "type", write("wrong.json", "[]")).code == 2
    assert run("subs", "type", CAMERA, "--json").json == [{"version": 4, "event_type": "camera", "refused": []}]


# --- files -------------------------------------------------------------------------------------------------


def test_import_takes_files_in_one_version(run: Run, store: Store) -> None:
    run("subs", "type", CAMERA)
    outcome = run("subs", "import", CAMERAS)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "version 2: 8 added, 0 replaced, 0 edited, 0 unchanged, 0 refused\n"
    assert run("subs", "import", CAMERAS, "--replace", "--json").json == [
        {"version": 2, "added": 0, "replaced": 0, "edited": 0, "unchanged": 8, "refused": 0}
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
    assert outcome.out == "version 1: 1 added, 0 replaced, 0 edited, 0 unchanged, 4 refused\n"
    said = [line for line in outcome.err.splitlines() if not line.startswith(" ")]
    assert said == [
        "first.jsonl:1: subscription 'a' is refused:",
        "first.jsonl:3: subscription '3' is refused:",
        "second.jsonl:1: subscription 'b' is refused:",
        "second.jsonl:2: subscription 'c' is refused:",
    ]
    assert "there is already a subscription 'b', at first.jsonl:2" in outcome.err
    assert "expires: expected a time, as 2026-07-01T12:00:00Z, found 'soon'" in outcome.err
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


@pytest.mark.slow
def test_export_and_import_are_a_round_trip(run: Run, store: Store) -> None:
    run("subs", "type", CAMERA)
    run("subs", "import", CAMERAS)
    later = datetime(3000, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
    store.add(
        "odd \n'\"\\ ü🎈",
        "x = 'é\n' ",
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


def test_the_environment_names_the_store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_STORE", str(tmp_path / "other.db"))
    assert run("subs", "add", "a", "x = 1").code == 0
    assert (tmp_path / "other.db").exists()


def test_a_store_is_taken_wherever_subscriptions_are(run: Run) -> None:
    run("subs", "type", CAMERA, "--store", "s.db")
    run("subs", "import", CAMERAS, "--store", "s.db")
    events = ["--events", str(EXAMPLES / "events.jsonl")]
    file = run("match", "--subscriptions", CAMERAS, *events, "--event-type", CAMERA)
    store = run("match", "--subscriptions", "s.db", *events)
    assert store.code == 0
    assert sorted(store.out.splitlines()) == sorted(file.out.splitlines())
    assert "matches" in run("explain", "--subscriptions", "s.db", "--id", "bargain", *events, "--event", "e1").out
    run("subs", "add", "loose", "x = 1", "--store", "s.db")
    assert "say which with --event-type" in run("match", "--subscriptions", "s.db", *events).err
