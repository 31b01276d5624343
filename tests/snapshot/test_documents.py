"""Sealed documents: only what was written, of a kind and format that is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tamis.errors import SnapshotError
from tamis.snapshot.documents import canonical, digest, parse, seal, unseal

CONTENT = {"b": [1, 2.5, None], "a": {"é": True}}


def test_what_is_sealed_comes_back() -> None:
    data = seal("kind", 2, CONTENT)
    assert unseal(data, "kind", 2, "file") == {"kind": "kind", "format": 2, **CONTENT}
    assert unseal(data, "kind", 3, "file")["format"] == 2, "a newer reader reads older formats"


def test_equal_content_has_equal_bytes() -> None:
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1}) == b'{"a":1,"b":2}'
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"{", "damaged"),
        (b"[" * 100_000, "damaged"),
        (b"[]", "foreign"),
        (b'{"kind": "other", "format": 1}', "foreign"),
        (b'{"kind": "kind", "format": "1"}', "damaged"),
        (b'{"kind": "kind", "format": 2}', "newer"),
    ],
)
def test_what_is_not_a_document_of_ours_is_refused(data: bytes, kind: str) -> None:
    with pytest.raises(SnapshotError, match="file: ") as raised:
        parse(data, "kind", 1, "file")
    assert raised.value.kind == kind


@pytest.mark.parametrize("change", [{"b": [1]}, {"more": 1}, {"checksum": None}])
def test_a_change_breaks_the_seal(change: dict[str, Any]) -> None:
    document = {**json.loads(seal("kind", 1, CONTENT)), **change}
    with pytest.raises(SnapshotError, match="its checksum is not that of its content"):
        unseal(json.dumps(document).encode(), "kind", 1, "file")
