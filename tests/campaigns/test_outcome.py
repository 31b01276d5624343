"""What a campaign reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.campaigns.__main__ import COMMANDS, Command, main
from tests.campaigns.outcome import Outcome


def test_a_report_is_written_for_programs_and_for_people(tmp_path: Path) -> None:
    outcome = Outcome("some", 7, is_quiet=True)
    outcome.figures |= {"pairs": 12_345, "kills": {"driver": 2}}
    outcome.write(tmp_path / "new" / "report.json")
    read = json.loads((tmp_path / "new" / "report.json").read_text())
    assert read["seconds"] >= 0
    rest = {"campaign": "some", "seed": 7, "ok": True, "figures": outcome.figures, "violations": []}
    assert {**read, "seconds": 0} == {**rest, "seconds": 0}
    text = (tmp_path / "new" / "report.txt").read_text()
    assert "nothing was violated" in text and "pairs: 12,345" in text and "driver: 2" in text
    assert not (tmp_path / "new" / "report.html").exists()


@pytest.mark.parametrize("how", ["a violation", "an assertion"])
def test_a_campaign_that_finds_something_ends_with_1(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(outcome: Outcome, _: object) -> None:
        if how == "an assertion":
            msg = "one pair is lost"
            raise AssertionError(msg)
        outcome.violate("one pair is lost")

    def fine(outcome: Outcome, _: object) -> None:
        outcome.figures["pairs"] = 1

    monkeypatch.setitem(COMMANDS, "fine", Command("finds nothing", lambda parser: None, fine))
    assert main(["fine"]) == 0
    monkeypatch.setitem(COMMANDS, "bad", Command("finds something", lambda parser: None, run))
    assert main(["bad", "--report", str(tmp_path / "report.json")]) == 1
    assert json.loads((tmp_path / "report.json").read_text())["violations"] == ["one pair is lost"]
    assert "VIOLATION: one pair is lost" in capsys.readouterr().out
