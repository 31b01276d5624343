"""`tests/` mirrors `src/tamis`: `a/b.py` is tested by `a/test_b.py`, perhaps with `a/test_b_more.py` beside it.

A package with code in its `__init__.py` has a test file of its name, inside or beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE, TESTS = ROOT / "src" / "tamis", ROOT / "tests"
UNTESTED = {"__main__.py", "_version.py", "arrays.py"}
"""Modules below `tamis` that say only what others are called; by path, so `functions/arrays.py` is not meant."""
MOST_LINES = 60
"""Lines of code of an `__init__.py` that needs no test file; most have imports only."""


def lines_of_code(path: Path) -> int:
    """Lines with statements; without docstrings, comments and empty lines."""
    text = path.read_text("utf-8")
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        1
        for number, line in enumerate(text.splitlines(), 1)
        if number not in docstrings and line.strip() and not line.lstrip().startswith("#")
    )


def modules_without_tests(source: Path, tests: Path) -> Iterator[str]:
    for path in sorted(source.rglob("*.py")):
        module = path.relative_to(source)
        if module.as_posix() in UNTESTED:
            continue
        if module.name != "__init__.py":
            places = [(module.parent, module.stem)]
        elif lines_of_code(path) > MOST_LINES:
            name = path.parent.name
            places = [(module.parent, name), (module.parent.parent, name)]
        else:
            continue
        if not any([*(tests / folder).glob(f"test_{name}*.py")] for folder, name in places):
            yield module.as_posix()


def test_every_module_has_a_test_file_of_its_name() -> None:
    assert list(modules_without_tests(SOURCE, TESTS)) == []


CODE = "number = 1\n"


@pytest.mark.parametrize(
    ("module", "content", "test", "is_missing"),
    [
        ("engine.py", "", "test_engine.py", False),
        ("engine.py", "", "test_engine_and_more.py", False),
        ("engine.py", "", "test_motor.py", True),
        ("engine.py", "", "parts/test_engine.py", True),
        ("parts/engine.py", "", "parts/test_engine.py", False),
        ("parts/engine.py", "", "test_engine.py", True),
        ("arrays.py", "", "test_engine.py", False),
        ("parts/arrays.py", "", "test_engine.py", True),
        (
            "parts/__init__.py",
            CODE * MOST_LINES + f'"""{CODE * MOST_LINES}"""\n# A comment.\n',
            "test_a.py",
            False,
        ),
        ("parts/__init__.py", CODE * (MOST_LINES + 1), "test_a.py", True),
        ("parts/__init__.py", CODE * (MOST_LINES + 1), "test_parts.py", False),
        ("parts/__init__.py", CODE * (MOST_LINES + 1), "parts/test_parts.py", False),
    ],
)
def test_a_missing_test_file_is_found(
    module: str, content: str, test: str, is_missing: bool, tmp_path: Path
) -> None:
    for path, text in ((tmp_path / "src" / module, content), (tmp_path / "tests" / test, "")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    missing = list(modules_without_tests(tmp_path / "src", tmp_path / "tests"))
    assert missing == ([module] if is_missing else [])
