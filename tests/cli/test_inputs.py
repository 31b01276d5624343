"""Inputs of commands: event types, and the names of events."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tamis.cli.inputs import EventNames, check_sources, load_event_type, open_events, source_name
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType

DECLARED = EventType.of({"name": "t", "attributes": {"price": "int"}})


@pytest.mark.parametrize(
    ("given", "type_", "attribute"),
    [(None, EventType(), "id"), (None, DECLARED, None), ("price", DECLARED, "price")],
)
def test_the_attribute_that_names_events(given: str | None, type_: EventType, attribute: str | None) -> None:
    assert EventNames.of(given, type_).attribute == attribute


def test_events_without_the_attribute_are_named_by_row() -> None:
    names = EventNames("id")
    batch = EventBatch.of([{"id": 7}, {"id": "x"}, {}, {"id": True}], EventType())
    assert names.own(batch) == [7, "x", None, "true"]
    assert names.of_rows(batch) == [7, "x", 2, "true"]
    assert names.found
    assert not EventNames("other").found


def test_missing_files_and_two_standard_inputs_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "a.jsonl"
    there.write_text("")
    check_sources(str(there), "-", "s3://bucket/file")
    for sources in (("-", "-"), ("missing.jsonl",)):
        with pytest.raises(typer.Exit):
            check_sources(*sources)
    assert capsys.readouterr().err.splitlines() == [
        "tamis: error: only one input can be standard input",
        "tamis: error: missing.jsonl: no such file; `ls .` lists the files there",
    ]
    assert (source_name("-"), source_name("a")) == ("standard input", "a")


def test_event_types_and_events_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"name": "t", "attributes": {"price": "int"}}')
    (tmp_path / "e.jsonl").write_text('{"price": 1}\n{"price": 2}\n')
    type_ = load_event_type(str(tmp_path / "t.json"))
    assert type_ == DECLARED
    assert load_event_type(None).is_schemaless
    assert [batch.rows for batch in open_events(str(tmp_path / "e.jsonl"), type_, None, batch_rows=1)] == [1, 1]
