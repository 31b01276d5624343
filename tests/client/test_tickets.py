"""The file of tickets: private, whole at every moment, shared by processes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tamis.client import Tickets
from tamis.client.tickets import TicketsError, default_path

HERE, THERE = "http://127.0.0.1:8765", "https://example.org"


def test_tickets_are_kept_by_address_and_id(tmp_path: Path) -> None:
    tickets = Tickets(tmp_path / "deep" / "tickets.json")
    assert tickets.of(HERE, "cheap") is None
    tickets.keep(HERE, {"cheap": "one", "é": "two"})
    tickets.keep(THERE, {"cheap": "three"})
    tickets.keep(HERE, {"cheap": "four"})
    again = Tickets(tickets.path)
    assert (again.of(HERE, "cheap"), again.of(HERE, "é"), again.of(THERE, "cheap")) == ("four", "two", "three")
    again.forget(HERE, "cheap")
    again.forget(HERE, "never there")
    assert (tickets.of(HERE, "cheap"), tickets.of(THERE, "cheap")) == (None, "three")


def test_only_the_owner_may_read_them(tmp_path: Path) -> None:
    tickets = Tickets(tmp_path / "deep" / "tickets.json")
    before = os.umask(0)
    try:
        tickets.keep(HERE, {"cheap": "one"})
        tickets.path.chmod(0o644)
        tickets.keep(HERE, {"cheap": "two"})
    finally:
        os.umask(before)
    assert stat.S_IMODE(tickets.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(tickets.path.parent.stat().st_mode) == 0o700


def test_a_change_replaces_the_file_whole(tmp_path: Path) -> None:
    tickets = Tickets(tmp_path / "tickets.json")
    tickets.keep(HERE, {"cheap": "one"})
    with tickets.path.open() as opened:
        tickets.keep(HERE, {"cheap": "two"})
        assert json.load(opened) == {HERE: {"cheap": "one"}}
    assert json.loads(tickets.path.read_text()) == {HERE: {"cheap": "two"}}
    assert not (tmp_path / "tickets.json.new").exists()


def test_a_change_that_fails_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = Tickets(tmp_path / "tickets.json")
    tickets.keep(HERE, {"cheap": "one"})

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TicketsError, match=r"tickets.json: cannot be written: No space"):
        tickets.keep(HERE, {"cheap": "two"})
    assert tickets.of(HERE, "cheap") == "one"


def test_what_a_killed_process_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "tickets.json.new").write_text('{"half')
    tickets = Tickets(tmp_path / "tickets.json")
    tickets.keep(HERE, {"cheap": "one"})
    assert tickets.of(HERE, "cheap") == "one"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"http://127.0.0.1:8765": "ticket"}', "\udcff"])
def test_a_file_of_something_else_is_named_and_left_alone(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tickets.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    before = file.read_bytes()
    asks: list[Callable[[], object]] = [
        lambda: Tickets(file).of(HERE, "cheap"),
        Tickets(file).check,
        lambda: Tickets(file).keep(HERE, {"cheap": "one"}),
    ]
    for ask in asks:
        with pytest.raises(TicketsError, match=r"tickets.json: expected tickets"):
            ask()
    assert file.read_bytes() == before


def test_a_place_that_cannot_be_written_is_found_before_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TicketsError, match="cannot be written"):
        Tickets(tmp_path / "file" / "tickets.json").check()
    Tickets(tmp_path / "tickets.json").check()
    assert not (tmp_path / "tickets.json").exists()


@pytest.mark.slow
def test_several_processes_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tickets.json"
    program = (
        "import sys\nfrom tamis.client.tickets import Tickets\n"
        "for n in range(25):\n    Tickets(sys.argv[1]).keep('http://h', {f'{sys.argv[2]}-{n}': 'x'})\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, file, str(number)]) for number in range(4)]
    assert [each.wait() for each in running] == [0] * 4
    assert len(json.loads(file.read_text())["http://h"]) == 100


def test_by_default_they_are_in_the_folder_for_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_path() == tmp_path / "tamis" / "tickets.json" == Tickets().path
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".local" / "state" / "tamis" / "tickets.json"
