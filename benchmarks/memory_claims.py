"""Claims on the bytes of direct Boolean filtering and of conjunctions: S. Bittner's thesis (2008), ids B2 to B8.

Theory comes from `tamis.lab.bittner.memory`, beside it stand the bytes of the structures that the theory is about.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.claim_tools import Claims, crossing
from benchmarks.engine_cases import artificial, auction
from benchmarks.engine_points import Lab
from benchmarks.report import Figures, number, spread
from tamis.engines.base import Stats
from tamis.engines.forest import Forest
from tamis.lab.bittner.memory import Advice, MemoryParameters, memory
from tamis.lab.workloads import WorkloadError

MEMORY = Claims()
_CLASSES = (1, 2, 3)
_TENTHS = tuple(each / 10 for each in range(2, 11))
_BESIDE = frozenset({"slots", "predicates", "predicate index"})
"""Structures that the framework leaves out: the same for all, or needed for handles of our own."""


def _own(stats: Stats) -> float:
    """Bytes of the structures that the framework is about."""
    return float(sum(size for name, size in stats.bytes.items() if name not in _BESIDE))


def _advice(forest: Forest) -> Advice:
    return memory(MemoryParameters.of(forest))


def _bytes(advice: Advice, measured: Mapping[str, Stats], count: int) -> Figures:
    """Theory beside what was measured, bytes a subscription."""
    found: Figures = {}
    for name, stats in measured.items():
        theory = advice.engines[name].bytes_per_subscription
        own, everything = _own(stats) / count, sum(stats.bytes.values()) / count
        found[name] = f"theory {number(theory)}, measured {number(own)}, with the rest {number(everything)}"
    return found


@MEMORY.add("B2", "turning points by theory, conjunctions of a subscription, bytes a subscription of the classes")
def _turning_points(lab: Lab) -> Figures:
    figures: Figures = {}
    for number_ in _CLASSES:
        case = auction(only=number_)
        found = lab.weighed(case, lab.effort.one, ("hits", "counting", "cluster"))
        if isinstance(found, WorkloadError):
            raise found
        data, measured = found
        advice = _advice(data.forest)
        name = case.label
        figures[f"{name}: conjunctions"] = number(advice.parameters.conjunctions)
        for engine, point in advice.turning_points.items():
            figures[f"{name}: turning point against {engine}"] = number(point)
        for engine, told in _bytes(advice, measured, lab.effort.one).items():
            figures[f"{name}: {engine}, bytes/subscription"] = told
        hits, counting = (_own(measured[each]) for each in ("hits", "counting"))
        figures[f"{name}: bytes of hits by bytes of counting"] = number(hits / counting)
    return figures


@MEMORY.add(
    "B3", "share of a grid (5 to 50 predicates, op .2 to 1, s^prop .2 to 1) where one disjunction is enough"
)
def _one_disjunction(_: Lab) -> Figures:
    grid = [_theory(p, op, 2, share) for p in range(5, 51, 5) for op in _TENTHS for share in _TENTHS]
    below = [advice.turning_points["counting"] < 2 for advice in grid]
    ten = _theory(10, 0.8, 2, 0.7)
    return {
        "share of the grid": number(sum(below) / len(below)),
        "turning point at 10 predicates, op .8, s^prop .7": number(ten.turning_points["counting"]),
    }


def _theory(predicates: int, operators: float, conjunctions: float, share: float) -> Advice:
    return memory(
        MemoryParameters(
            predicates=predicates,
            operators=operators * predicates,
            subscriptions=1_000,
            unique_predicates=1_000 * predicates,
            conjunctions=conjunctions,
            conjunctions_per_predicate=share * conjunctions,
        )
    )


@MEMORY.add("B4", "bytes of cluster by bytes of counting, by theory over a grid and measured on the classes")
def _cluster_bytes(lab: Lab) -> Figures:
    figures: Figures = {}
    for predicates in (5, 10, 50):
        ratios = []
        for op in _TENTHS:
            for share in _TENTHS:
                engines = _theory(predicates, op, 4, share).engines
                ratios.append(engines["cluster"].total_bytes / engines["counting"].total_bytes)
        figures[f"theory, {predicates} predicates"] = spread(ratios)
    for number_ in _CLASSES:
        found = lab.weighed(auction(only=number_), lab.effort.one, ("counting", "cluster"))
        if not isinstance(found, WorkloadError):
            counting, cluster = (_own(found[1][name]) for name in ("counting", "cluster"))
            figures[f"measured, class {number_}"] = number(cluster / counting)
            counting, cluster = (float(sum(found[1][name].bytes.values())) for name in ("counting", "cluster"))
            figures[f"measured with the rest, class {number_}"] = number(cluster / counting)
    return figures


def _weights(lab: Lab, cells: Mapping[str, Mapping[str, float]]) -> Figures:
    """Bytes of hits by bytes of counting in cells of the artificial workload, theory beside what was measured."""
    figures: Figures = {}
    for name, parameters in cells.items():
        found = lab.weighed(artificial(**parameters), lab.effort.one, ("hits", "counting"))
        if isinstance(found, WorkloadError):
            figures[name] = f"no such conditions: {str(found).splitlines()[0]}"
            continue
        data, measured = found
        advice = _advice(data.forest)
        theory = advice.engines["hits"].total_bytes / advice.engines["counting"].total_bytes
        hits, counting = _own(measured["hits"]), _own(measured["counting"])
        count = lab.effort.one
        figures[f"{name}: hits by counting, theory"] = number(theory)
        figures[f"{name}: hits by counting, measured"] = number(hits / counting)
        figures[f"{name}: hits, bytes/subscription"] = number(hits / count)
        figures[f"{name}: counting, bytes/subscription"] = number(counting / count)
    return figures


@MEMORY.add(
    "B5", "bytes of hits by bytes of counting over operators and over s^prop, 10 predicates, 4 conjunctions"
)
def _partial(lab: Lab) -> Figures:
    base = {"predicates": 10, "conjunctions": 4}
    cells = {f"op {share}": base | {"operators": share, "sharing": 0.5} for share in (0.4, 0.5, 0.6)}
    cells |= {f"s^prop {share}": base | {"sharing": share} for share in (0.3, 0.5, 0.7)}
    return _weights(lab, cells)


@MEMORY.add("B6", "conjunctions from which hits needs fewer bytes than counting, by theory and measured, per |p|")
def _measured_turning_points(lab: Lab) -> Figures:
    figures: Figures = {}
    for predicates in (5, 10, 20, 50):
        sizes, theory, measured = [], [], []
        points = []
        for conjunctions in (2, 3, 4, 5):
            case = artificial(predicates=predicates, conjunctions=conjunctions, sharing=0.5)
            found = lab.weighed(case, lab.effort.one, ("hits", "counting"))
            if isinstance(found, WorkloadError):
                continue
            data, stats = found
            advice = _advice(data.forest)
            sizes.append(float(conjunctions))
            theory.append(advice.engines["hits"].total_bytes / advice.engines["counting"].total_bytes)
            measured.append(_own(stats["hits"]) / _own(stats["counting"]))
            points.append(advice.turning_points["counting"])
        ones = [1.0] * len(sizes)
        name = f"{predicates} predicates, s^prop .5"
        figures[f"{name}: hits by counting at {sizes}, theory"] = [round(each, 3) for each in theory]
        figures[f"{name}: hits by counting at {sizes}, measured"] = [round(each, 3) for each in measured]
        figures[f"{name}: turning point by the equation"] = [round(each, 2) for each in points]
        figures[f"{name}: crossing measured"] = (
            crossing(sizes, measured, ones) if len(sizes) > 1 else "too few cells"
        )
    return figures


@MEMORY.add("B7", "bytes over commonality 0, .25 and .5, for 2 and 5 conjunctions")
def _commonality(lab: Lab) -> Figures:
    cells = {
        f"{conjunctions} conjunctions, p_c {share}": {"conjunctions": conjunctions, "commonality": share}
        for conjunctions in (2, 5)
        for share in (0.0, 0.25, 0.5)
    }
    return _weights(lab, cells)


@MEMORY.add("B8", "a straight line through bytes by size: its intercept as a share of the greatest size")
def _through_the_origin(lab: Lab) -> Figures:
    found: dict[str, list[float]] = {"hits": [], "counting": [], "cluster": []}
    sizes = lab.effort.curve[:: max(1, len(lab.effort.curve) // 3)]
    for count in sizes:
        weighed = lab.weighed(artificial(), count, tuple(found))
        if not isinstance(weighed, WorkloadError):
            for name, stats in weighed[1].items():
                found[name].append(_own(stats))
    figures: Figures = {}
    for name, values in found.items():
        slope, intercept = np.polyfit(sizes, values, 1)
        figures[f"{name}: slope, bytes/subscription"] = number(float(slope))
        figures[f"{name}: intercept by the greatest"] = number(float(intercept) / max(values))
    return figures
