"""Parts on overlap as it is computed: Boolean against conjunctive, by number of advertisements; and their bytes.

In the thesis, the conjunctive one decides hardly faster than it finds all overlaps. Here both end with the first
overlap that they see, and they begin differently: the Boolean one looks for the disjoint predicates of all ANDs of
a subscription first, the conjunctive one takes them AND by AND.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from benchmarks.report import Figures, Size, number, table
from benchmarks.routing_overlap_check import check
from benchmarks.routing_overlap_data import SCALES, Found, Scale, scale_of
from tamis.formulas.formula import Formula
from tamis.lab.bittner.memory import MemoryParameters, memory
from tamis.lab.bittner.overlap import ConjunctiveIndex
from tamis.lab.claims.networks import progress
from tamis.lab.claims.overlaps import (
    SEED,
    Auctions,
    Contestant,
    auctions,
    compiled,
    decision_problems,
    function_problems,
    is_part,
    times,
)
from tamis.lab.measuring.curves import bend, exponent
from tamis.lab.workloads import generate
from tamis.lab.workloads.advertisements import CLASSES
from tamis.report import charts
from tamis.routing.overlap import OverlapIndex

Curves: TypeAlias = dict[str, list[float]]
"""Milliseconds by number of advertisements, of each contestant and problem."""

_PROBLEMS = ("function", "decision")


def overlap(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Both problems, both contestants, by number of advertisements (B44 to B48)."""
    scale = scale_of(size, sizes)
    given = auctions(max(scale.clocked, scale.checked), scale.sizes[-1])
    asked = given.subscriptions[: scale.clocked]
    boolean, conjunctive = OverlapIndex([given.event_type]), ConjunctiveIndex([given.event_type])
    contestants: dict[str, OverlapIndex | ConjunctiveIndex] = {"Boolean": boolean, "conjunctive": conjunctive}
    figures: Figures = {"subscriptions that are asked about, of 15000 in the thesis": len(asked)}
    curves: Curves = {f"{name}, {problem}": [] for name in contestants for problem in _PROBLEMS}
    for start, count in zip((0, *scale.sizes), scale.sizes, strict=False):
        progress(f"overlap: {count} advertisements")
        for place in range(start, count):
            for index in contestants.values():
                index.add(str(place), given.name, given.advertisements[place])
        if not start:
            figures |= check(given, dict(contestants), scale.checked, min(scale.checked, count))
        figures |= _compared(given, asked, boolean, conjunctive, count)
        for name, index in contestants.items():
            for problem, value in zip(_PROBLEMS, times(index, given.name, asked, scale.rounds), strict=True):
                curves[f"{name}, {problem}"].append(value)
                progress(f"  {name}, {problem}: {number(value)} ms")
    figures["ANDs of all advertisements, by advertisement"] = number(len(conjunctive) / scale.sizes[-1])
    figures |= _ratios(scale, curves) | _growth(scale, curves)
    lines = {
        name: [(float(count), value) for count, value in zip(scale.sizes, values, strict=True)]
        for name, values in curves.items()
    }
    return figures, {}, [charts.lines("overlap by advertisements", "ms a subscription", lines)]


def _compared(
    given: Auctions, asked: Sequence[Formula], boolean: OverlapIndex, conjunctive: ConjunctiveIndex, count: int
) -> Figures:
    """What both find; the conjunctive one may leave out what is none, and nothing else may differ.

    Raises:
        SystemExit: It does.
    """
    before = boolean.candidates
    many = function_problems(boolean, given.name, asked)
    evaluated = boolean.candidates - before
    few = function_problems(conjunctive, given.name, asked)
    if not is_part(few, many):
        msg = f"{count} advertisements: the conjunctive index finds overlaps that the Boolean one does not"
        raise SystemExit(msg)
    contestants: dict[str, tuple[Contestant, list[list[str]]]] = {
        "Boolean": (boolean, many),
        "conjunctive": (conjunctive, few),
    }
    for name, (index, found) in contestants.items():
        if decision_problems(index, given.name, asked) != [bool(each) for each in found]:
            msg = f"{count} advertisements, {name}: decisions are not what the overlaps say"
            raise SystemExit(msg)
    pairs = len(asked) * count
    shares = [sum(map(len, each)) / pairs for each in (many, few)]
    told = f"Boolean {shares[0]:.4f}, conjunctive {shares[1]:.4f}, of all pairs"
    return {
        f"{count}: overlaps": told,
        f"{count}: candidates evaluated, by pair": number(evaluated / pairs),
    }


def _ratios(scale: Scale, curves: Curves) -> Figures:
    figures: Figures = {}
    for place, count in enumerate(scale.sizes):
        for name, values in curves.items():
            figures[f"{count}: {name}, ms"] = number(values[place])
    ratios = {
        "decision by function, Boolean (thesis: .2)": ("Boolean, decision", "Boolean, function"),
        "decision by function, conjunctive (thesis: .80 to .92)": (
            "conjunctive, decision",
            "conjunctive, function",
        ),
        "Boolean by conjunctive, decision (thesis: .28 at 500000)": ("Boolean, decision", "conjunctive, decision"),
        "conjunctive by Boolean, function (thesis: .88 at 500000)": ("conjunctive, function", "Boolean, function"),
    }
    for title, (one, other) in ratios.items():
        pairs = zip(scale.sizes, curves[one], curves[other], strict=True)
        figures[title] = ", ".join(f"{first / second:.2f} at {count}" for count, first, second in pairs)
    return figures


def _growth(scale: Scale, curves: Curves) -> Figures:
    """Exponents of the times, and where slopes change most."""
    sizes = list(map(float, scale.sizes))
    figures: Figures = {}
    for name, values in curves.items():
        figures[f"{name}: exponent of growth"] = number(exponent(sizes, values))
        found = bend(sizes, values)
        if found is not None:
            steeper = found.after / found.before if found.before else float("inf")
            told = (
                f"at {number(found.at)}, {number(steeper)} times as steep after it (thesis: 200000 and 80000, 2.5)"
            )
            figures[f"{name}: bend"] = f"{told}; saves {found.saved:.0%} of the squared error of one line"
    return figures


def bytes_by_class(size: Size) -> Found:
    """Bytes of an advertisement by the formulas of the thesis, Boolean and conjunctive, for each class (B49)."""
    count = SCALES[size].classed
    rows = []
    figures: Figures = {}
    for place in range(len(CLASSES) + 1):
        name = f"A{place + 1}" if place < len(CLASSES) else "all classes"
        weights = tuple(float(place in (each, len(CLASSES))) for each in range(len(CLASSES)))
        drawn = generate("advertisements", subscriptions=count, events=1, seed=SEED, classes=weights)
        found = MemoryParameters.of(compiled(drawn.conditions.to_pylist(), drawn.event_type))
        needed = memory(found).engines
        boolean, conjunctive = (needed[each].bytes_per_subscription for each in ("hits", "counting"))
        more = "conjunctive" if conjunctive > boolean else "Boolean"
        figures[name] = f"Boolean {number(boolean)}, conjunctive {number(conjunctive)} bytes: {more} needs more"
        rows.append(
            (name, found.predicates, found.operators, found.conjunctions, *map(number, (boolean, conjunctive)))
        )
    heads = ("class", "predicates", "operators", "ANDs", "bytes, Boolean", "bytes, conjunctive")
    return figures, {}, [table(heads, rows)]
