"""`tamis subs`: what it shows, does and refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tamis.store import Store
from tests.cli.conftest import EXAMPLES, Run

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
    assert outcome.code == 2
    assert outcome.err == "tamis: error: tamis.db: there is no store here; `tamis subs type` makes one\n"
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
        "tamis: error: the subscription store needs SQLAlchemy; install it with: "
        "pip install '.[store]' in a clone of tamis\n"
    )


# --- one subscription --------------------------------------------------------------------------------------


def test_add_replace_remove(run: Run, store: Store) -> None:
    assert run("subs", "add", "a", "x < 3", "--owner", "ines", "--priority", "2").out == (
        "store version 1: 'a' added, revision 1\n"
    )
    taken = run("subs", "add", "a", "x < 4")
    assert (taken.code, taken.out) == (1, "")
    assert "there is already a subscription 'a'" in taken.err
    assert run("subs", "add", "a", "x < 4", "--replace", "--json").json == [
        {"store_version": 2, "id": "a", "revision": 2}
    ]
    assert run("subs", "add", "a", "x < 4", "--replace").out == "store version 2: 'a' unchanged, revision 2\n"
    removed = run("subs", "remove", "a", "b")
    assert (removed.code, removed.out) == (1, "store version 3: 1 subscription removed\n")
    assert removed.err == "there is no subscription 'b'\n"
    assert run("subs", "remove", "b", "--json").json == [{"store_version": 3, "removed": 0, "unknown": ["b"]}]


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
        "store version 2: 'a' expires 3000-01-01 12:00:00\n"
    )
    assert run("subs", "renew", "a", "--never", "--json").json == [
        {"store_version": 3, "id": "a", "expires": None}
    ]
    wrong = run("subs", "renew", "a", "--expires", "soon")
    assert wrong.code == 2
    assert "--expires: expected a time, such as 2026-12-31T18:00Z, or a duration" in wrong.err
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
    assert [(row["id"], row["revision"], row["state"], row["event_type"]) for row in rows] == [
        ("b", 1, "active", "event")
    ]
    assert [row["id"] for row in run("subs", "list", "--json", "--limit", "1", "--after", "a").json] == ["b"]
    assert [row["id"] for row in run("subs", "list", "--json", "--label", "two", "--prefix", "a").json] == ["a"]
    assert run("subs", "list", "--json", "--type", "camera").json == []


def test_a_dialect_is_shown_where_a_condition_is_not_in_sql(run: Run, store: Store) -> None:
    store.add("a", "x = 1")
    assert "dialect" not in run("subs", "list").out
    store.add("b", '{"x": [1]}', dialect="eventbridge")
    lines = [line.split() for line in run("subs", "list").out.splitlines()]
    assert (lines[0][-2:], lines[1][5], lines[2][5]) == (["dialect", "condition"], "sql", "eventbridge")
    assert run("subs", "history", "b").out.splitlines()[1].split()[-3:] == ["eventbridge", '{"x":', "[1]}"]


def test_history(run: Run, store: Store) -> None:
    store.add("a", "x = 1")
    store.replace("a", "x = 2")
    store.remove("a")
    rows = run("subs", "history", "a", "--json").json
    assert [(row["store_version"], row["kind"], row["revision"]) for row in rows] == [
        (1, "add", 1),
        (2, "replace", 2),
        (3, "remove", 2),
    ]
    lines = run("subs", "history", "a").out.splitlines()
    assert [line.split()[3] for line in lines[1:]] == ["add", "replace", "remove"]
    assert "by" not in lines[0].split()
    store.acting_as("ines").add("a", "x = 3")
    head, *lines = run("subs", "history", "a").out.splitlines()
    assert "by" in head.split()
    assert [("ines" in line, line.endswith("x = 3")) for line in lines] == [(False, False)] * 3 + [(True, True)]
    assert run("subs", "history", "a", "--json").json[-1]["actor"] == "ines"
    store.trim(3)
    outcome = run("subs", "history", "a")
    assert (outcome.code, outcome.err) == (0, "tamis: the changes up to store version 2 have been trimmed\n")
    outcome = run("subs", "history", "b")
    assert outcome.code == 1
    assert "there is no change of a subscription 'b'" in outcome.err


# --- event types -------------------------------------------------------------------------------------------


# --- files -------------------------------------------------------------------------------------------------


def test_the_environment_names_the_store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_STORE", str(tmp_path / "other.db"))
    assert run("subs", "add", "a", "x = 1").code == 0
    assert (tmp_path / "other.db").exists()


@pytest.mark.slow
def test_a_store_is_taken_wherever_subscriptions_are(run: Run) -> None:
    run("subs", "type", CAMERA, "--store", "s.db")
    run("subs", "import", CAMERAS, "--store", "s.db")
    events = ["--events", str(EXAMPLES / "events.jsonl")]
    file = run("match", "--subscriptions", CAMERAS, *events, "--event-type", CAMERA)
    store = run("match", "--subscriptions", "s.db", *events)
    assert store.code == 0
    assert sorted(store.out.splitlines()) == sorted(file.out.splitlines())
    assert "matches" in run("explain", "--subscriptions", "s.db", "--id", "bargain", *events, "--event", "e1").out
    run("subs", "add", "loose", "x = 1", "--store", "s.db", "--type", "event")
    assert "choose one with --event-type" in run("match", "--subscriptions", "s.db", *events).err
    run("subs", "remove", "loose", "--store", "s.db")
    assert run("match", "--subscriptions", "s.db", *events).out == store.out
