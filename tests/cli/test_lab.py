"""`tamis lab claims` measures rows, keeps them as JSON and writes a page."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

SMALLEST = ("lab", "claims", "--size", "smallest")


def test_rows_are_printed_with_what_is_left(run: Run, tmp_path: Path) -> None:
    file, page = tmp_path / "claims.json", tmp_path / "claims.html"
    done = run(*SMALLEST, "--claim", "J1", "--claim", "J13", "--results", str(file), "--html", str(page))
    assert done.code == 0
    assert "J1  holds / agrees  An AND of m ORs of two becomes 2^m conjunctions." in done.out
    assert "conjunctions for m = 3: 8 (theirs 8)" in done.out
    assert "J13  cannot be tested" in done.out
    assert "1 row left" in done.err and "0 rows left" in done.err
    assert {each["id"] for each in json.loads(file.read_text("utf-8"))["results"]} == {"J1", "J13"}
    assert "<h1>Claims of five papers" in page.read_text("utf-8")


def test_resumed_rows_are_not_measured_again(run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "claims.json")
    options = (*SMALLEST, "--results", file, "--json", "--quiet")
    assert [each["id"] for each in run(*options, "--claim", "J1").json] == ["J1"]
    again = run(*options, "--claim", "J1", "--claim", "J34", "--resume")
    assert [each["id"] for each in again.json] == ["J34"]
    assert again.json[0]["revision"] and again.json[0]["seed"] == 2026
    assert again.err == ""


def test_a_paper_a_claim_or_a_file_that_is_wrong_is_an_error(run: Run, tmp_path: Path) -> None:
    for wrong, told in ((("--paper", "nobody"), "known are jewel"), (("--claim", "J99"), "J1 to J37")):
        done = run(*SMALLEST, *wrong, "--results", str(tmp_path / "claims.json"))
        assert done.code == 2 and told in done.err
    (tmp_path / "other.json").write_text("[]")
    done = run(*SMALLEST, "--claim", "J1", "--results", str(tmp_path / "other.json"))
    assert done.code == 2 and "holds no results of claims" in done.err
