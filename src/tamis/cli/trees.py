"""Formulas and explanations as trees for the terminal."""

from __future__ import annotations

from collections import Counter

from rich.text import Text
from rich.tree import Tree

from tamis.cli.output import visible
from tamis.explain import ExplainedPart, Explanation
from tamis.formulas.formula import Formula

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}


def explanation_tree(explanation: Explanation) -> Tree:
    """Every part of the condition with its verdict and the values that it read."""
    return _part_tree(explanation.tree, None)


def _part_tree(part: ExplainedPart, parent: Tree | None) -> Tree:
    mark, style = _MARKS[part.verdict]
    label = Text.assemble((f"{mark} ", f"bold {style}"), (visible(part.label), style))
    values = ", ".join(f"{name} = {value}" for name, value in part.values.items() if name != part.text)
    if values:
        label.append(f"  [{visible(values)}]", style="dim")
    tree = Tree(label) if parent is None else parent.add(label)
    for inner in part.parts:
        _part_tree(inner, tree)
    return tree


def formula_tree(formula: Formula) -> Tree:
    """The formula; a node with several parents is drawn once and referenced elsewhere."""
    uses = Counter(id(operand) for node in formula.nodes() for operand in node.operands)
    shared = [node for node in formula.nodes() if node.operands and uses[id(node)] > 1]
    numbers = {id(node): number for number, node in enumerate(shared, 1)}
    return _formula_tree(formula, None, numbers, set())


def _formula_tree(node: Formula, parent: Tree | None, numbers: dict[int, int], drawn: set[int]) -> Tree:
    label = Text(visible(formula_label(node)), style="" if node.predicate is not None else "bold cyan")
    number = numbers.get(id(node))
    again = id(node) in drawn
    drawn.add(id(node))
    if number is not None:
        label.append(f"  (as #{number} above)" if again else f"  (#{number})", style="dim")
    tree = Tree(label) if parent is None else parent.add(label)
    if not (again and number is not None):
        for operand in node.operands:
            _formula_tree(operand, tree, numbers, drawn)
    return tree


def formula_label(node: Formula) -> str:
    """The text of a predicate, or the connective of an inner node."""
    if not node.operands:
        return node.describe()
    return "AND" if node.is_and else "OR" if node.is_or else f"AT LEAST {node.least} OF"
