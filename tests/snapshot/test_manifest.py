"""Manifests: written and read, and refused when they are not of a snapshot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tamis.errors import SnapshotError
from tamis.snapshot.documents import seal
from tamis.snapshot.manifest import FORMAT, KIND, Manifest, ManifestEntry, read_manifest, write_manifest

NAME = "0123456789abcdef" * 4
ENTRIES = (ManifestEntry(NAME, 10, 1_000), ManifestEntry(NAME[::-1], 5, 200, 2, NAME, "sale"))
TYPES = {"event": {"name": "event"}, "sale": {"name": "sale"}}
MANIFEST = Manifest(3, 2, datetime(2026, 1, 2, tzinfo=UTC), TYPES, ENTRIES, {"store": 7}, NAME)


def test_a_manifest_comes_back_with_its_totals() -> None:
    again = read_manifest(write_manifest(MANIFEST), 3, "file")
    assert again == MANIFEST
    assert (again.slots, again.dead, again.bytes) == (15, 2, 1_200)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"entries": [{"segment": "../etc", "slots": 1, "bytes": 1, "event_type": "event"}]}, "names no file"),
        ({"entries": [{"segment": NAME, "slots": 1, "bytes": 1, "event_type": "x"}]}, "'x' is not described"),
        ({"entries": [{"colour": "red"}]}, "not a version of a snapshot"),
        ({"created": "yesterday"}, "not a version of a snapshot"),
        ({"version": 4}, "it is version 4, not 3"),
    ],
)
def test_a_document_of_something_else_is_foreign(change: dict[str, Any], problem: str) -> None:
    content: dict[str, Any] = {
        "version": 3,
        "parent": None,
        "created": "2026-01-02T00:00:00+00:00",
        "event_types": TYPES,
        "entries": [],
        "extra": {},
        "statistics": None,
    }
    with pytest.raises(SnapshotError, match=problem) as raised:
        read_manifest(seal(KIND, FORMAT, {**content, **change}), 3, "file")
    assert raised.value.kind == "foreign"
