"""`tamis snapshot`: what it shows, does and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.expression import Path as Path_
from tamis.frames import BatchFrame
from tamis.matcher import Matcher
from tamis.snapshot import Snapshots
from tamis.statistics import Statistics
from tamis.values.types import STRING, decimal
from tests.cli.conftest import EXAMPLES, Run, Write
from tests.snapshot.processes import opened, publish_next

COMMANDS = ("build", "inspect", "verify", "merge", "versions", "forget")
CAMERA = str(EXAMPLES / "camera.json")
CAMERAS = str(EXAMPLES / "cameras.jsonl")


@pytest.fixture
def four(run: Run, tmp_path: Path) -> Snapshots:
    """A made-up snapshot of four versions, under the URL `snapshot`."""
    for _ in range(4):
        publish_next(opened("local", tmp_path))
    return Snapshots(tmp_path / "snapshot")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples_and_exit_codes(run: Run, command: str) -> None:
    text = run("snapshot", command, "--help").out
    assert "Examples:\n" in text
    assert f"  tamis snapshot {command}" in text
    assert "Exit code" in text


@pytest.mark.parametrize("command", ["inspect", "verify", "merge", "versions"])
def test_a_url_without_versions_is_an_error(run: Run, command: str) -> None:
    outcome = run("snapshot", command, "nowhere")
    assert outcome.code == 2
    said = "there is no version of a snapshot here; `tamis snapshot build` makes one"
    assert outcome.err == f"tamis: error: nowhere: {said}\n"


def test_a_url_that_nobody_knows_is_an_error(run: Run) -> None:
    outcome = run("snapshot", "versions", "nowhere://x")
    assert outcome.code == 2
    assert outcome.err.startswith("tamis: error: nowhere://x: pyarrow cannot open it: ")


# --- versions, inspect -------------------------------------------------------------------------------------


def test_versions_are_listed_with_their_pins(run: Run, four: Snapshots) -> None:
    four.pin("query/7", 2)
    four.pin("another", 2)
    rows = run("snapshot", "versions", "snapshot", "--json").json
    assert [row["version"] for row in rows] == [1, 2, 3, 4]
    assert [row["pinned_by"] for row in rows] == [[], ["another", "query/7"], [], []]
    assert [(row["subscriptions"], row["dead"], row["segments"]) for row in rows[:2]] == [
        (20_960, 40, 2),
        (20_940, 60, 2),
    ]
    lines = run("snapshot", "versions", "snapshot").out.splitlines()
    assert lines[0].split() == [
        "version",
        "published",
        "(UTC)",
        "subscriptions",
        "dead",
        "segments",
        "bytes",
        "pinned",
        "by",
    ]
    assert lines[2].split()[3:] == ["20,940", "60", "2", "231.0", "kB", "another,", "query/7"]
    assert len(lines) == 5


def test_inspect_shows_what_a_version_is_made_of(run: Run, four: Snapshots) -> None:
    shown = run("snapshot", "inspect", "snapshot", "--version", "3", "--json").json[0]
    manifest = four.manifest(3)
    assert (shown["version"], shown["parent"], shown["event_types"]) == (3, 2, {"event": {"name": "event"}})
    assert shown["statistics"] == {"of": 3}
    assert shown["extra"] == dict(manifest.extra)
    assert [each["name"] for each in shown["segments"]] == [entry.segment for entry in manifest.entries]
    for each, entry in zip(shown["segments"], manifest.entries, strict=True):
        assert (each["slots"], each["dead"], each["bytes"]) == (entry.slots, entry.dead, entry.bytes)
        assert [array["name"] for array in each["arrays"]] == ["flags", "values"]
        assert [array["bytes"] for array in each["arrays"]] == [3 * entry.slots, 8 * entry.slots]
    text = run("snapshot", "inspect", "snapshot", "--version", "3").out
    assert text.startswith("snapshot: version 3, made from version 2\n")
    assert "event type     event (schemaless)" in text
    assert manifest.entries[0].segment[:12] in text
    assert "\n  values  <i8   168.0 kB\n" in text


def test_inspect_shows_what_is_known_of_events(run: Run, tmp_path: Path) -> None:
    offer = EventType.from_dict({"name": "offer", "attributes": {"price": "decimal(6,2)", "colour": "string"}})
    events = EventBatch.of([{"price": "2.5", "colour": "red"}, {"price": 3}, {"price": 3}, {"price": 3}], offer)
    statistics = Statistics()
    statistics.survey(BatchFrame(events), [Path_(("price",), decimal(6, 2)), Path_(("colour",), STRING)], 4)
    Matcher(offer, statistics=statistics).publish(tmp_path / "known")
    lines = [" ".join(line.split()) for line in run("snapshot", "inspect", "known").out.splitlines()]
    first = lines.index("statistics of offer:")
    assert lines[first + 1 : first + 4] == [
        "attribute in events values quartiles frequent",
        "colour 30.0% 1 'red' .. 'red' .. 'red' .. 'red' .. 'red'",
        "price 90.0% 2 2.50 .. 3.00 .. 3.00 .. 3.00 .. 3.00 3.00 75.0%",
    ]


def test_inspect_reads_no_array(run: Run, four: Snapshots, tmp_path: Path) -> None:
    for file in (tmp_path / "snapshot" / "segments").glob("*/arrays.bin"):
        file.unlink()
    assert run("snapshot", "inspect", "snapshot").code == 0


def test_inspect_names_what_is_wrong(run: Run, four: Snapshots, tmp_path: Path) -> None:
    (tmp_path / "snapshot" / "versions" / "000000000004.json").write_text("{}")
    outcome = run("snapshot", "inspect", "snapshot")
    assert outcome.code == 2
    assert "snapshot/versions/000000000004.json: foreign: expected a document of kind" in outcome.err


# --- verify ------------------------------------------------------------------------------------------------


def test_verify_finds_nothing_where_nothing_is_wrong(run: Run, four: Snapshots) -> None:
    outcome = run("snapshot", "verify", "snapshot")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "tamis: 4 versions, all as written\n")
    assert run("snapshot", "verify", "snapshot", "--quiet").err == ""


def test_verify_names_what_is_damaged(run: Run, four: Snapshots, tmp_path: Path) -> None:
    newest = four.manifest().entries[1].segment
    file = tmp_path / "snapshot" / "segments" / newest / "arrays.bin"
    content = bytearray(file.read_bytes())
    content[10] ^= 1
    file.write_bytes(content)
    outcome = run("snapshot", "verify", "snapshot")
    assert outcome.code == 1
    expected = f"snapshot/segments/{newest}/arrays.bin"
    assert outcome.out == f"{expected}: damaged: the checksum of array 'flags' is not that of its content\n"
    assert outcome.err == "tamis: 4 versions, 1 file not as written\n"
    found = run("snapshot", "verify", "snapshot", "--json").json
    assert [(each["file"], each["kind"]) for each in found] == [(expected, "damaged")]
    assert run("snapshot", "verify", "snapshot", "--version", "3").code == 0
    assert run("snapshot", "verify", "snapshot", "--version", "4").code == 1


# --- forget ------------------------------------------------------------------------------------------------

ALL = ("--keep-versions", "1", "--older-than", "0s", "--grace", "0s")


def test_forget_removes_what_nobody_needs(run: Run, four: Snapshots) -> None:
    four.pin("somebody", 2)
    told = run("snapshot", "forget", "snapshot", *ALL, "--dry-run").out
    assert told.startswith("would remove 2 versions (1, 3) and ")
    assert four.versions() == [1, 2, 3, 4]
    assert run("snapshot", "forget", "snapshot", *ALL).out == told.replace("would remove", "removed")
    assert four.versions() == [2, 4]
    assert run("snapshot", "forget", "snapshot", *ALL, "--unpin", "somebody", "--json").json[0]["versions"] == [2]


def test_forget_keeps_what_is_young_unless_told_otherwise(run: Run, four: Snapshots) -> None:
    assert run("snapshot", "forget", "snapshot").out == "removed 0 versions and 0 files of 0 B\n"
    assert run("snapshot", "forget", "snapshot", "--keep-versions", "1").out.startswith("removed 0 versions")
    assert run("snapshot", "forget", "snapshot", "--older-than", "0s").out.startswith("removed 0 versions")


def test_forget_refuses_what_it_cannot_read(run: Run, four: Snapshots) -> None:
    outcome = run("snapshot", "forget", "snapshot", "--older-than", "soon")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--older-than: expected a number with s, m, h or d" in outcome.err
    outcome = run("snapshot", "forget", "snapshot", "--unpin", "nobody")
    assert (outcome.code, outcome.err) == (2, "tamis: error: snapshot: 'nobody' has no pin\n")


# --- build, merge ------------------------------------------------------------------------------------------


def test_merge_leaves_one_segment_and_nothing_dead(run: Run, write: Write) -> None:
    for last in (10, 20, 15):
        lines = "".join(f"x < {number}\n" for number in range(last))
        run("snapshot", "build", "s", "--subscriptions", write("s.txt", lines))
    before = {each.id: each.condition for each in Matcher.open("s")}
    told = run("snapshot", "merge", "s", "--json").json[0]
    assert told["before"]["version"] == 3
    assert told["before"]["dead"] > 0
    assert (told["after"]["version"], told["after"]["segments"], told["after"]["dead"]) == (4, 1, 0)
    assert {each.id: each.condition for each in Matcher.open("s")} == before
    assert run("snapshot", "merge", "s").out == "version 4 is merged already\n"
    assert Snapshots("s").versions() == [1, 2, 3, 4]
