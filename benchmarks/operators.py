"""Strategies that call costly predicates which conditions share, as their paper counted them: calls an event.

After Z. Liu et al., "Scalable Event Matching for Overlapping Subscriptions" (DEBS 2007). Parts count calls on the
workload of the paper (`benchmarks.operators_counts`), or enumerate all outcomes of small instances
(`benchmarks.operators_claims`). The paper leaves selectivities and events open; see `tamis.lab.workloads.overlap`.
That deciding at the least cost is as hard as set cover (L1) is shown by a test, not here.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.operators_claims import bounds, orders, pairs
from benchmarks.operators_counts import SCALES, Bench, Part, by_length, by_predicates, by_size, by_skew, over_all
from benchmarks.operators_times import response, times
from benchmarks.report import Figures, Report, Size, print_bars

PARTS: dict[str, Part] = {
    "sizes": Part(("L4", "L5", "L6", "L7", "L8"), "calls by number of conditions", by_size),
    "predicates": Part(("L4", "L7", "L9"), "calls by number of predicates", by_predicates),
    "lengths": Part(("L4", "L7", "L10", "L11"), "calls by greatest length of conditions", by_length),
    "skew": Part(("L4", "L7", "L12"), "calls by popularity of predicates, and by selectivities", by_skew),
    "bounds": Part(("L2", "L3"), "the worst cost over the least", bounds),
    "pairs": Part(("L13", "L14"), "what the order of two chains gains", pairs),
    "orders": Part(("L15", "L16"), "what orders of chains cost, over the best", orders),
    "times": Part(("L17",), "time with operators of known cost, through a matcher", times),
    "response": Part(
        (), "mean response with a schedule, where a tenth of the events needs a slow operator", response
    ),
}


def run(size: Size, names: Sequence[str] = ()) -> Report:
    """Measure.

    Args:
        size: How much; bars are judged at full size only.
        names: Of parts, or ids of what they answer to; all by default.
    """
    known = {*PARTS, *(claim for part in PARTS.values() for claim in part.claims)}
    unknown = [name for name in names if name not in known]
    if unknown:
        msg = f"there is no part {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        raise SystemExit(msg)
    bench = Bench(SCALES[size], size)
    figures: Figures = {}
    for name, part in PARTS.items():
        if names and not {name, *part.claims} & set(names):
            continue
        told = ", ".join([part.sentence, *part.claims])
        bench.progress(f"{name}: {told}")
        print(f"\n{name}: {told}")
        _tell(figures, name, part.measure(bench))
    if bench.points:
        print("\nall points")
        _tell(figures, "all points", over_all(bench.points))
    judged = size == "full"
    figures["bars"] = "judged" if judged else "not judged: this is not the size that they are set for"
    report = Report("operators", figures, bench.bars, judged, tuple(bench.drawings))
    print_bars(report)
    return report


def _tell(figures: Figures, name: str, found: Figures) -> None:
    for what, value in found.items():
        figures[f"{name}: {what}"] = value
        print(f"  {what}: {value}")
