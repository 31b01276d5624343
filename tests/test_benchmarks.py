"""Every benchmark runs, checks its contestants and ends with a line of JSON; its speed does not matter here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_runs_at_its_smallest(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "figures.html"
    status = main([name, "--smallest", "--html", str(page)])
    outcome = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(outcome) == {"benchmark", "revision", "figures", "bars"}
    assert outcome["benchmark"] == name
    assert outcome["figures"]
    assert status == (0 if all(bar["ok"] for bar in outcome["bars"].values()) else 1)
    for bar in outcome["bars"].values():
        assert bar["ok"] == (bar["value"] >= bar["bar"])
    assert name in page.read_text("utf-8")
