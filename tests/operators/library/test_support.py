"""Helpers of the library: all problems at once, and messages that name file, package and suggestion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis.operators import OperatorError
from tamis.operators.library.support import (
    check_table,
    file_lines,
    file_text,
    import_extra,
    places_of,
    raise_problems,
    read_tables,
    unknown_name,
)


def test_a_missing_package_is_named_with_its_extra() -> None:
    assert import_extra("json", "text").loads("1") == 1
    with pytest.raises(OperatorError, match=r"need no_such_package: pip install 'tamis\[text\]'"):
        import_extra("no_such_package", "text")


def test_problems_are_raised_together() -> None:
    raise_problems("lists", [])
    with pytest.raises(OperatorError, match=r"^lists: one$"):
        raise_problems("lists", ["one"])
    with pytest.raises(OperatorError, match=r"lists: 30 problems\n  p0\n(.|\n)*and 10 more"):
        raise_problems("lists", [f"p{number}" for number in range(30)])


def test_lines_without_comments_and_blanks(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(b"\xef\xbb\xbfone\n\n# two\n  three \n")
    assert file_lines(file) == ["one", "three"]
    file.write_bytes(b"\xff")
    with pytest.raises(OperatorError, match="this is not UTF-8"):
        file_text(file)
    with pytest.raises(OperatorError, match="No such file"):
        file_text(tmp_path / "missing.txt")


def test_an_unknown_name_comes_with_a_suggestion() -> None:
    assert unknown_name("region", "Pari", ["Paris", "Rome"]) == "there is no region 'Pari'; did you mean 'Paris'?"


def test_places_of_names() -> None:
    assert places_of(pa.array(["b", "x", None, "a"]), pa.array(["a", "b"])).tolist() == [1, -1, -1, 0]


def test_tables_are_read_by_name_and_all_problems_are_listed() -> None:
    def read(table: Any) -> tuple[int | None, list[str]]:
        return (table["n"], []) if "n" in table else (None, ["n is missing"])

    assert read_tables("models", {"a": {"n": 1}, "b": {"n": 2}}, read) == {"a": 1, "b": 2}
    with pytest.raises(OperatorError, match="2 problems\n  a: n is missing\n  b: n is missing"):
        read_tables("models", {"a": {}, "b": {}}, read)
    with pytest.raises(OperatorError, match="models: expected a table of names, found 3"):
        check_table("models", 3)
