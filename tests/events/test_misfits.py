"""Events that do not fit their types: the same ones are found, whatever they come from."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import EventError, MisfitError
from tamis.events import EventBatch, EventType, find_misfits, read_events
from tamis.events.misfits import (
    ON_MISFIT,
    Misfit,
    check_on_misfit,
    misfit_rows,
    reasons_of,
    refuse_misfits,
)
from tamis.events.reading import read_csv, read_json_lines

TYPE = EventType.of(
    {
        "name": "sale",
        "attributes": {
            "id": {"type": "string", "required": True},
            "price": {"type": "int", "min": 0},
            "seller": {"type": "struct", "attributes": {"since": "date"}},
        },
    }
)
EVENTS: list[dict[str, Any]] = [
    {"id": "a", "price": 1, "seller": {"since": "2026-01-01"}},
    {"id": "b", "price": "dear", "seller": {"since": "long"}},
    {"price": -1},
    {"id": "d", "price": -1, "seller": 7, "colour": "red"},
]
FOUND = [
    Misfit(1, "price", "int", "'dear'"),
    Misfit(1, "seller.since", "date", "'long'"),
    Misfit(2, "id", "string", None),
    Misfit(3, "seller", "struct<since:date>", "7"),
]


@pytest.mark.parametrize("way", ["dicts", "line by line", "scanned"])
def test_every_value_that_does_not_fit_is_found(way: str) -> None:
    if way == "dicts":
        batch = EventBatch.of(EVENTS, TYPE)
    else:
        lines = "\n".join(map(json.dumps, EVENTS)).encode()
        (batch,) = read_json_lines(lines, TYPE, _scan=way == "scanned")
    assert find_misfits(batch) == FOUND
    assert misfit_rows(batch).tolist() == [False, True, True, True]
    assert dict(reasons_of(batch, misfit_rows(batch))) == {
        1: "price expected int, found 'dear'; seller.since expected date, found 'long'",
        2: "id is required",
        3: "seller expected struct<since:date>, found 7",
    }


def test_a_value_outside_of_its_domain_and_an_unknown_attribute_are_no_misfits() -> None:
    assert find_misfits(EventBatch.of([{"id": "a", "price": -1, "colour": "red"}], TYPE)) == []
    assert find_misfits(EventBatch.of([{"price": object()}])) == []


def test_columns_of_another_type(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", None], "price": ["1", None]})
    pq.write_table(table, tmp_path / "events.parquet")
    expected = [Misfit(0, "price", "int", "'1'"), Misfit(1, "id", "string", None)]
    assert find_misfits(EventBatch.of(table, TYPE)) == expected
    (batch,) = read_events(tmp_path / "events.parquet", TYPE)
    assert find_misfits(batch) == expected


def test_a_cell_of_csv_that_cannot_be_cast_is_a_misfit() -> None:
    amounts = {"i": "int", "d": "decimal(8,2)", "b": "boolean", "l": "array<int>", "t": "timestamp"}
    content = b'i,d,b,l,t\nx,"1,234.50",perhaps,[1,soon\n1,2.5,true,[1],2026-01-01\n,,,,\n'
    (batch,) = read_csv(content, EventType.of({"name": "n", "attributes": amounts}))
    assert [(each.row, each.attribute) for each in find_misfits(batch)] == [(0, name) for name in amounts]
    assert [each.found for each in find_misfits(batch)][:2] == ["'x'", "'1,234.50'"]
    assert [batch.column((name,)).to_list()[0] for name in amounts] == [None] * 5
    assert misfit_rows(batch).tolist() == [True, False, False]


def test_the_first_misfit_is_refused_by_name() -> None:
    batch = EventBatch.of(EVENTS, TYPE)
    refuse_misfits(batch, ["a"], misfit_rows(batch) & False)
    with pytest.raises(MisfitError) as caught:
        refuse_misfits(batch, pa.array(["a", "b", None, "d"]), misfit_rows(batch))
    error: MisfitError = pickle.loads(pickle.dumps(caught.value))
    assert issubclass(MisfitError, EventError)
    assert (error.event, error.attribute, error.expected, error.found) == ("b", "price", "int", "'dear'")
    assert str(error) == "event 'b': price: expected int, found 'dear'"
    assert str(MisfitError("c", "id", "string", None)) == (
        "event 'c': id: expected string, found nothing, and it is required"
    )


def test_settings_are_checked() -> None:
    assert [check_on_misfit(each) for each in ON_MISFIT] == ["null", "dead letter", "refuse"]
    with pytest.raises(ValueError, match="expected 'null', 'dead letter' or 'refuse', found 'NULL'"):
        check_on_misfit("NULL")
