from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tamis import Formula, Matcher, compile_conditions
from tamis.lab.workloads import Workload, WorkloadError, generate
from tamis.lab.workloads.jewel import OPERATORS, JewelParameters
from tamis.lab.workloads.parameters import read_parameters

DOCS = (Path(__file__).resolve().parents[3] / "docs" / "workloads.md").read_text("utf-8")
TOKEN = re.compile(r"\(|\)|AND|OR|XOR|a\d+ \S+ \d+")


class Tree(NamedTuple):
    """The text of every node, the root first, and the operators."""

    nodes: list[str]
    joints: list[str]


def tree(text: str) -> Tree:
    tokens = TOKEN.findall(text)
    assert "".join(tokens).replace(" ", "") == text.replace(" ", "")
    found = Tree([], [])
    root = _joined(tokens, found)
    assert tokens == []
    assert root == found.nodes[-1]
    found.nodes.reverse()
    return found


def _joined(tokens: list[str], found: Tree) -> str:
    left, joint, right = _operand(tokens, found), tokens.pop(0), _operand(tokens, found)
    found.joints.append(joint)
    found.nodes.append(f"({left} {joint} {right})")
    return found.nodes[-1]


def _operand(tokens: list[str], found: Tree) -> str:
    token = tokens.pop(0)
    if token != "(":
        found.nodes.append(token)
        return token
    node = _joined(tokens, found)
    assert tokens.pop(0) == ")"
    return node


def trees(data: Workload) -> list[Tree]:
    return [tree(text) for text in data.conditions.to_pylist()]


def match_share(data: Workload) -> float:
    matcher = Matcher(data.event_type, engine="bitslice")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    pairs = matcher.match_batch(data.events).num_rows
    return float(pairs / len(data.ids) / data.events.num_rows)


@pytest.mark.parametrize("predicates", [3, 6, 14])
@pytest.mark.parametrize("attribute_set", ["free", "fixed"])
def test_conditions_have_as_many_predicates_on_different_attributes(predicates: int, attribute_set: str) -> None:
    data = generate(
        "jewel",
        subscriptions=100,
        events=0,
        predicates=predicates,
        shared=0.5,
        overlap=0.9,
        operators="B",
        attribute_set=attribute_set,
    )
    for text, formula in zip(
        data.conditions.to_pylist(), compile_conditions(data.conditions, data.event_type), strict=True
    ):
        names = re.findall(r"(a\d+) >", text)
        assert len(set(names)) == len(names) == predicates
        if attribute_set == "fixed":
            assert names == [f"a{number}" for number in range(predicates)]
        assert isinstance(formula, Formula)
        assert len(formula.predicates()) == predicates


@pytest.mark.parametrize(
    ("overlap", "both", "shared", "predicates"),
    [
        (0.95, 0.2, 0.4, 10),
        (0.9, 0.0, 0.1, 14),
        (0.9, 0.0, 0.8, 14),
        (1.0, 0.5, 0.8, 14),
        (1.0, 1.0, 10 / 11, 6),
        (0.9, 0.2, 0.35, 6),
        (0.0, 0.2, 0.0, 6),
    ],
)
def test_shares_of_overlap_and_of_shared_nodes(
    overlap: float, both: float, shared: float, predicates: int
) -> None:
    data = generate(
        "jewel",
        subscriptions=4_000,
        events=0,
        seed=6,
        overlap=overlap,
        both=both,
        shared=shared,
        predicates=predicates,
        pool=100,
        operators="B",
    )
    found = trees(data)
    uses = Counter(node for each in found for node in set(each.nodes))
    parts = [sum(uses[node] > 1 for node in each.nodes[1:]) for each in found]
    assert all(len(each.nodes) == 2 * predicates - 1 for each in found)
    assert np.mean([part > 0 for part in parts]) == pytest.approx(overlap, abs=0.02)
    assert np.mean(parts) / (2 * predicates - 1) == pytest.approx(shared, abs=0.02)


def test_members_of_pools_have_nothing_in_common() -> None:
    """A predicate is in one member only: what it is used with is always the same, up to the member's root."""
    data = generate("jewel", subscriptions=3_000, events=0, pool=50, operators="B")
    above: dict[str, set[str]] = {}
    for each in trees(data):
        root = each.nodes[0]
        for node in each.nodes[1:]:
            if ">" in node and not node.startswith("("):
                around = [other for other in each.nodes if node in other and other not in (node, root)]
                if around:
                    above.setdefault(node, set()).add(min(around, key=len))
    assert len(above) > 5_000
    assert all(len(parents) == 1 for parents in above.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_as_frequent_as_asked_for(name: str) -> None:
    data = generate("jewel", subscriptions=4_000, events=0, operators=name)
    assert data.parameters["operators"] == OPERATORS[name]
    counts = Counter(joint for each in trees(data) for joint in each.joints)
    roots = Counter(each.joints[-1] for each in trees(data))
    for joint, share in zip(("AND", "OR", "XOR"), OPERATORS[name], strict=True):
        assert counts[joint] / 36_000 == pytest.approx(share, abs=0.02)
        assert roots[joint] / 4_000 == pytest.approx(share, abs=0.03)


def test_any_weights_of_operators() -> None:
    data = generate("jewel", subscriptions=50, events=0, operators=(0, 0, 2))
    assert {joint for each in trees(data) for joint in each.joints} == {"XOR"}
    with pytest.raises(WorkloadError, match=r"operators: expected one of A, B, C, or 3 weights, .* found 'D'"):
        generate("jewel", operators="D")


def test_shapes_are_random() -> None:
    data = generate("jewel", subscriptions=2_000, events=0, predicates=6, overlap=0.0, shared=0.0)
    shapes = Counter(re.sub(r"a\d+ > \d+", "p", text) for text in data.conditions.to_pylist())
    # Three leaves to either side of the root, each side bracketed in one of two ways.
    assert len(shapes) == 4
    assert all(count == pytest.approx(500, abs=90) for count in shapes.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"matches": 0.4},
        {"matches": 0.45, "predicates": 14, "shared": 0.35},
        {"matches": 0.13, "operators": "B", "shared": 0.5},
        {"matches": 0.2, "operators": "C", "both": 0.0, "shared": 0.18, "pairs": (8, 20)},
        {"matches": 0.15, "operators": "B", "attribute_set": "fixed", "pairs": (4, 20)},
        {"matches": 0.3, "skew": 1.0},
        {"comparison": "random", "operators": "C"},
    ],
)
def test_matches_are_as_many_as_asked_for(parameters: dict[str, Any]) -> None:
    count = 300 if parameters.get("operators") == "C" else 1_500
    # A larger pool comes nearer to the expectation.
    data = generate("jewel", subscriptions=count, events=1_000, seed=9, pool=8_000, **parameters)
    expected = data.facts["expected_matches"]
    assert expected == pytest.approx(parameters.get("matches", expected), rel=1e-3)
    assert match_share(data) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("predicates", "attribute_set"), [(6, "fixed"), (14, "fixed"), (6, "free")])
def test_equalities_match_by_being_equal(predicates: int, attribute_set: str) -> None:
    data = generate(
        "jewel",
        subscriptions=2_000,
        events=1_000,
        comparison="=",
        attribute_set=attribute_set,
        predicates=predicates,
        pool=5,
        shared=0.38,
        matches=0.005,
    )
    assert all(set(re.findall(r"a\d+ (\S+) ", text)) == {"="} for text in data.conditions.to_pylist())
    assert data.facts["expected_matches"] == pytest.approx(0.005)
    assert match_share(data) == pytest.approx(0.005, rel=0.15)


def test_random_comparisons_are_of_six_kinds() -> None:
    data = generate("jewel", subscriptions=1_000, events=0, comparison="random")
    signs = Counter(re.findall(r"a\d+ (\S+) ", " ".join(data.conditions.to_pylist())))
    assert sorted(signs) == ["!=", "<", "<=", "=", ">", ">="]
    assert all(count == pytest.approx(10_000 / 6, rel=0.1) for count in signs.values())


def test_skew_makes_operands_common() -> None:
    counts = []
    for skew in (0.0, 1.0):
        data = generate("jewel", subscriptions=1_000, events=0, overlap=0.0, shared=0.0, skew=skew)
        operands = Counter(re.findall(r"> (\d+)", " ".join(data.conditions.to_pylist())))
        counts.append(max(operands.values()) / 10_000)
    assert counts[0] < 0.001
    assert counts[1] == pytest.approx(1 / np.sum(1 / np.arange(1, 2_000_001)), rel=0.15)


@pytest.mark.parametrize("attribute_set", ["free", "fixed"])
def test_events_have_some_of_the_attributes(attribute_set: str) -> None:
    data = generate("jewel", subscriptions=1, events=600, pairs=(10, 14), attribute_set=attribute_set)
    events = data.events.drop("id").to_pylist()
    present = [[name for name, value in event.items() if value is not None] for event in events]
    counts = Counter(map(len, present))
    assert sorted(counts) == [10, 11, 12, 13, 14]
    assert all(count == pytest.approx(120, abs=40) for count in counts.values())
    names = Counter(name for each in present for name in each)
    if attribute_set == "fixed":
        assert names["a9"] == 600
        assert names["a14"] == 0
    else:
        assert all(count == pytest.approx(360, abs=60) for count in names.values())
        assert len(names) == 20


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"predicates": 21}, "predicates: 21 need as many attributes, and there are 20"),
        ({"attributes": 15}, "pairs: 20 need as many attributes, and there are 15"),
        (
            {"shared": 0.1},
            "shared: with 10 predicates, overlap 0.95 and both 0.2 it is from 0.22 to 0.86, not 0.1",
        ),
        ({"comparison": "random", "matches": 0.1}, "matches: of random comparisons half hold"),
        ({"comparison": "=", "operators": "B", "matches": 0.1}, "matches: of equalities they can be steered only"),
        ({"comparison": "=", "matches": 0.1}, "matches: .* at most 1.9e-07 of all with a pool of 1000"),
        (
            {"pairs": 10, "matches": 0.1},
            "matches: an event satisfies at most 5.413e-06 of such conditions, not 0.1",
        ),
    ],
)
def test_what_cannot_be_had_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=f"workload jewel: {message}"):
        generate("jewel", **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("predicates", [6, 10, 14])
def test_the_documented_experiments_can_be_generated(predicates: int) -> None:
    rows = re.findall(r"^\| [\w ]+ \| `([a-z_]+=[^`]*)`", DOCS.partition("| experiment |")[2], re.MULTILINE)
    assert len(rows) == 6
    for row in rows:
        texts = dict(each.split("=", 1) for each in row.split())
        given = {"predicates": predicates, **read_parameters("jewel", JewelParameters, texts)}
        data = generate("jewel", subscriptions=2, events=2, **given)
        assert data.facts["expected_matches"] == pytest.approx(given["matches"], rel=1e-3)
