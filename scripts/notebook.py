"""Runs `examples/spark.ipynb` without Jupyter: its code cells in order, in one namespace and in its folder.

`python scripts/notebook.py` runs it and writes what each cell prints into it; a test compares the two.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "spark.ipynb"


def code_cells(notebook: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The source, the printed output and the cell itself of each code cell."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"]), "".join(line for each in cell["outputs"] for line in each["text"]), cell


def run(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Each code cell, with what it is said to print and what it prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, (source, expected, cell) in enumerate(code_cells(notebook), 1):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(source, f"{NOTEBOOK.name}, code cell {number}", "exec"), names)
        yield cell, expected, printed.getvalue()


def main() -> None:
    """Run the notebook, and write what its cells print into it."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    os.chdir(NOTEBOOK.parent)
    sys.path.insert(0, "")
    for number, (cell, _, printed) in enumerate(run(notebook), 1):
        lines = printed.splitlines(keepends=True)
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
        cell["execution_count"] = number
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
