"""`tamis demo`, in a process of its own, as `make demo` runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tamis.sinks.files import committed, read_notifications


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_tells_what_happened(spark_environment: None, tmp_path: Path) -> None:
    size = ["--subscriptions", "200", "--events", "400", "--folder", "demo"]
    command = [sys.executable, "-m", "tamis", "demo", *size]
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *reports, result = map(json.loads, done.stdout.splitlines())
    found = read_notifications(tmp_path / "demo" / "notifications")
    assert sum(report["events"] for report in reports) == result["events"] == 400
    assert found.num_rows == result["notifications"] == result["distinct"] > 0
    assert reports[-1]["backlog"] == 0
    assert len(committed(tmp_path / "demo" / "notifications")) == len(reports)
    assert result["explained"]["matched"] is True
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "<svg" in page
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "demo is not empty" in again.stderr
