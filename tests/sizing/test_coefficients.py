"""Coefficients are kept in a file, which says when and where they were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis import TamisError
from tamis.sizing import SHIPPED, read_coefficients

OTHERS = ["", "[]", "{}", '{"kind": "other"}', '{"kind": "tamis.sizing", "workloads": {}}']


def test_those_that_are_shipped_say_where_they_come_from() -> None:
    known = read_coefficients()
    assert {"sparse", "ads", "auction"} <= known.workloads.keys()
    assert known.measured.startswith("20") and "cores" in known.machine


def test_what_is_written_is_read(tmp_path: Path) -> None:
    known = read_coefficients(SHIPPED)
    known.write(tmp_path / "own.json")
    assert read_coefficients(tmp_path / "own.json") == known


@pytest.mark.parametrize("content", OTHERS)
def test_another_file_is_refused_by_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.json").write_text(content, "utf-8")
    with pytest.raises(TamisError, match=r"other\.json: no coefficients"):
        read_coefficients(tmp_path / "other.json")
    with pytest.raises(TamisError, match=r"missing\.json"):
        read_coefficients(tmp_path / "missing.json")
