"""References to snapshots, opened once in a process, with the operators that conditions call."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tamis import Matcher
from tamis.operators import Operator, OperatorError, install, uninstall
from tamis.operators.discovery import OperatorSettings
from tamis.operators.meters import reset_meters
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.values.types import BIGINT

HALF = Operator("halved_here", (BIGINT,), BIGINT, lambda value: value // 2, batch=False)
TYPE = {"name": "reading", "attributes": {"id": "string", "n": "bigint"}}


@pytest.fixture
def halved() -> Iterator[Operator]:
    install(HALF)
    yield HALF
    uninstall("halved_here")
    reset_meters("halved_here")


@pytest.fixture
def ref(tmp_path: Path, halved: Operator) -> SnapshotRef:
    matcher = Matcher(TYPE)
    matcher.add_many([(f"s{number}", f"halved_here(n) = {number}") for number in range(3)])
    return SnapshotRef(str(tmp_path), matcher.publish(tmp_path))


def test_equal_references_are_opened_once(ref: SnapshotRef) -> None:
    again = pickle.loads(pickle.dumps(ref))
    assert again == ref
    assert again.matchers() is ref.matchers()
    assert replace(ref, segments=frozenset()).matchers() is not ref.matchers()


def test_a_process_keeps_few_snapshots_open(ref: SnapshotRef) -> None:
    first = ref.matchers()
    for segments in range(5):
        replace(ref, segments=frozenset({str(segments)})).matchers()
    assert ref.matchers() is not first


def test_a_reference_whose_operators_are_not_known_is_not_opened(ref: SnapshotRef, halved: Operator) -> None:
    assert len(ref.matchers()) == 3
    uninstall("halved_here")
    try:
        with pytest.raises(OperatorError, match="not known in this process: halved_here;"):
            ref.matchers()
    finally:
        install(halved)
    assert len(ref.matchers()) == 3


def test_a_reference_that_calls_nothing_loads_nothing(tmp_path: Path) -> None:
    matcher = Matcher(TYPE)
    matcher.add("plain", "n > 3")
    nowhere = OperatorSettings(("there_is_no_such_module",))
    ref = SnapshotRef(str(tmp_path), matcher.publish(tmp_path), operators=nowhere)
    assert len(ref.matchers()) == 1
