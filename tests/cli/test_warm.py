"""`tamis warm` compiles what is missing, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tamis import kernels
from tests.cli.conftest import Run


@pytest.mark.slow
def test_what_is_compiled_is_left_as_it_is(run: Run) -> None:
    place = kernels.folder()
    assert place is not None
    assert run("warm").code == 0
    files = {path: path.stat().st_mtime_ns for path in place.glob("*.kernel")}
    again = run("warm", "--json")
    said = json.loads(again.out)
    assert (said["compiled"], said["folder"]) == (0, str(place))
    assert said["cpu_seconds"] > 0
    # Other tests compile meanwhile what this one does not know.
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_a_folder_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    before = kernels.folder()
    (tmp_path / "file").write_text("in the way")
    done = run("warm", "--folder", str(tmp_path / "file"))
    assert done.code == 2
    assert "compiled kernels cannot be written to" in done.err
    assert kernels.folder() == before, "for this command only"
