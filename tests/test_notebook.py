"""The notebook for users of Spark runs, and prints what it shows."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from scripts.notebook import NOTEBOOK, code_cells, run
from tests.pages import check


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_every_cell_prints_what_the_notebook_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "examples"
    shutil.copytree(NOTEBOOK.parent, copy)
    monkeypatch.chdir(copy)
    monkeypatch.syspath_prepend(copy)  # restores the path, which the notebook adds to
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "flats", None)
    monkeypatch.delitem(sys.modules, "flats")
    for number, (_, expected, printed) in enumerate(run(json.loads(NOTEBOOK.read_text("utf-8"))), 1):
        check(expected, printed, f"{NOTEBOOK.name}, code cell {number}")


def test_the_notebook_is_one_that_jupyter_opens() -> None:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for number, (source, _, cell) in enumerate(code_cells(notebook), 1):
        assert source
        assert cell["execution_count"] == number
        assert all(output["output_type"] == "stream" for output in cell["outputs"])
