"""BatchSearch in an R-tree and its level that turns itself, as their paper measured them; counts before clocks.

After B. Wang, W. Zhang and M. Kitsuregawa. Each part is an experiment (`benchmarks.batchsearch_levels`,
`_adapting`, `_clocks`); pairs are checked in each before anything is measured, against a scan of all boxes, and
those of the tree once against `bitslice`.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.batchsearch_adapting import growth, settling
from benchmarks.batchsearch_clocks import changes, engines, schedule
from benchmarks.batchsearch_data import SCALES, SKEWS, Bench, Part, check_engine
from benchmarks.batchsearch_levels import gain_by_events, gain_by_shape, gain_by_size
from benchmarks.report import Figures, Report, Size, print_bars

PARTS: dict[str, Part] = {
    "events": Part(
        ("W1", "W2", "W4", "W5", "W7", "W11"),
        "gain of the best level and curve over levels by events of an array, and what the estimate takes",
        gain_by_events,
    ),
    "sizes": Part(("W3", "W6", "W7", "W11"), "gain and best level by number of boxes", gain_by_size),
    "settling": Part(("W8",), "where the level that turns itself ends, by rounds and start", settling),
    "growth": Part(
        ("W6", "W9", "W10"), "the level that turns itself against the best fixed one, the index growing", growth
    ),
    "engines": Part(("W12",), "rtree against counting in time", engines),
    "shapes": Part(("W13",), "gain by dimensions and capacities of nodes", gain_by_shape),
    "schedule": Part((), "a matcher with bitslice: cheap events first against arrival order", schedule),
    "changes": Part((), "rates of change and bytes of the tree", changes),
}
_CHECKED_BOXES = 5_000


def run(size: Size, names: Sequence[str] = (), boxes: int | None = None) -> Report:
    """Measure.

    Args:
        size: How much; bars are judged at full size only.
        names: Of parts, or ids of what they answer to; all by default.
        boxes: The greatest number of boxes, instead of that which goes with the size; others in proportion.
    """
    known = {*PARTS, *(claim for part in PARTS.values() for claim in part.claims)}
    unknown = [name for name in names if name not in known]
    if unknown:
        msg = f"there is no part {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        raise SystemExit(msg)
    scale = SCALES[size]
    bench = Bench(scale if boxes is None else scale.resized(boxes), size)
    figures: Figures = {}
    for workload in SKEWS:
        pairs = check_engine(workload, min(_CHECKED_BOXES, bench.scale.one))
        figures[f"{workload}: pairs of the tree that are those of bitslice"] = pairs
    for name, part in PARTS.items():
        if names and not {name, *part.claims} & set(names):
            continue
        told = ", ".join([part.sentence, *part.claims])
        bench.progress(f"{name}: {told}")
        print(f"\n{name}: {told}")
        for what, value in part.measure(bench).items():
            figures[f"{name}: {what}"] = value
            print(f"  {what}: {value}")
    judged = size == "full" and boxes is None
    figures["bars"] = "judged" if judged else "not judged: this is not the size that they are set for"
    report = Report("batchsearch", figures, bench.bars, judged, tuple(bench.drawings))
    print_bars(report)
    return report
