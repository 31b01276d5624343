"""Formulas and explanations as trees for the terminal."""

from __future__ import annotations

import io

from rich.console import Console
from rich.tree import Tree

from tamis.cli.trees import explanation_tree, formula_label, formula_tree
from tamis.events.batch import EventBatch
from tamis.explain import explain
from tamis.language.condition import compile_condition


def drawn(tree: Tree) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=200, highlight=False).print(tree)
    return out.getvalue().splitlines()


def test_an_explanation_has_marks_and_values() -> None:
    condition = compile_condition("a > 1 AND (b = 'x' OR c < 2)")
    tree = explanation_tree(explain(condition, EventBatch.of({"a": 2, "b": "\x1b"})))
    assert drawn(tree) == [
        "? AND",
        "├── ✓ a > 1  [a = 2]",
        "└── ? OR",
        "    ├── ✗ b = 'x'  [b = '\\x1b']",
        "    └── ? c < 2  [c = NULL]",
    ]


def test_a_formula_has_its_connectives() -> None:
    formula = compile_condition("a = 1 AND at_least(2, b = 1, c = 1, d = 1)").formula
    assert formula_label(formula) == "AND"
    assert drawn(formula_tree(formula)) == [
        "AND",
        "├── a = 1",
        "└── AT LEAST 2 OF",
        "    ├── b = 1",
        "    ├── c = 1",
        "    └── d = 1",
    ]
