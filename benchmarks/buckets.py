"""PUBSUB's buckets against BE-Tree and Siena's counting, on the workloads of T. Banerjee Mishra and S. Sahni.

Parts may be chosen by name. Pairs of all contestants are compared with those of `bitslice` before any time is
taken (`benchmarks.engine_points`), and again after a tenth of the subscriptions was deleted and inserted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.buckets_bench import Bench, Part
from benchmarks.buckets_cases import EXTENTS, JUDGED, engine_of
from benchmarks.buckets_counts import COUNTS
from benchmarks.buckets_curves import CURVES
from benchmarks.buckets_steps import STEPS
from benchmarks.engine_points import Lab
from benchmarks.report import Report, Size, print_bars

PARTS: dict[str, Part] = {**CURVES, **COUNTS, **STEPS}
_NOT_JUDGED = "not judged: this is not the size that they are set for"


def run(size: Size, names: Sequence[str] = (), sizes: Sequence[int] = ()) -> Report:
    """Measure parts.

    Args:
        size: How much to measure.
        names: Of parts; all by default.
        sizes: Numbers of subscriptions, instead of those that go with the size; the largest is that of sweeps.
    """
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        msg = f"there is no part {', '.join(unknown)}; known are {', '.join(PARTS)}"
        raise SystemExit(msg)
    extent = EXTENTS[size]
    if sizes:
        largest = max(sizes)
        extent = replace(extent, sizes=tuple(sorted(sizes)), swept=largest, mixed=min(extent.mixed, largest))
    bench = Bench(Lab(extent.effort, engine_of), extent)
    for name in names or PARTS:
        part = PARTS[name]
        bench.lab.progress(f"{name}: {part.sentence}")
        print(f"\n{name}: {part.sentence}")
        part.measure(bench)
    bench.figures["left out"] = bench.lab.left_out
    judged = size == "full" and JUDGED in extent.sizes and bool(bench.bars)
    bench.figures["bars"] = "judged" if judged else _NOT_JUDGED
    report = Report("buckets", bench.figures, bench.bars, judged, tuple(bench.drawings))
    print_bars(report)
    return report
