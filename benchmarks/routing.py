"""Broker networks whose routing entries are generalised, as S. Bittner's thesis (2008) measured them.

Parts of sections 8.2 to 8.4 are networks of brokers (`benchmarks.routing_network`), those of 8.5 and 8.6 are about
advertisements (`benchmarks.routing_overlap`). Two more are about shards, without and with Spark
(`benchmarks.routing_shards`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.report import Bar, Figures, Report, Size, print_bars
from benchmarks.routing_accuracy import accuracy
from benchmarks.routing_cover import cover, deregistration
from benchmarks.routing_cover_kernels import cover_kernels
from benchmarks.routing_cutoff import cutoff
from benchmarks.routing_kernels import kernels
from benchmarks.routing_network import Found
from benchmarks.routing_plain import plain
from benchmarks.routing_pruned import conjunctive, measures, scale
from tamis.lab.claims.networks import progress

SIZED = (
    "plain",
    "accuracy",
    "conjunctive",
    "kernels",
    "cover",
    "cover-kernels",
    "deregistration",
    "overlap",
    "advertisements",
    "both",
)
"""Parts that take numbers of subscriptions; those behind the third go by the greatest of them."""


def parts() -> dict[str, Callable[..., Found]]:
    """All parts by name; they take a size, and those of `SIZED` numbers of subscriptions, too."""
    from benchmarks import routing_overlap, routing_shards

    return {
        "plain": plain,
        "measures": measures,
        "accuracy": accuracy,
        "kernels": kernels,
        "conjunctive": conjunctive,
        "scale": scale,
        "cover": cover,
        "cover-kernels": cover_kernels,
        "cutoff": cutoff,
        "deregistration": deregistration,
        **routing_overlap.parts(),
        **routing_shards.parts(),
    }


def run(size: Size, names: Sequence[str] = (), sizes: Sequence[int] = ()) -> Report:
    """Measure.

    Args:
        size: How much; bars are judged at full size only.
        names: Of parts; all by default.
        sizes: Numbers of subscriptions of the parts in `SIZED`, instead of those that go with the size.
    """
    known = parts()
    unknown = [name for name in names if name not in known]
    if unknown:
        msg = f"there is no part {', '.join(unknown)}; known are {', '.join(known)}"
        raise SystemExit(msg)
    figures: Figures = {}
    bars: dict[str, Bar] = {}
    drawings: list[str] = []
    for name, measure in known.items():
        if names and name not in names:
            continue
        progress(name)
        print(f"\n{name}: {(measure.__doc__ or '').splitlines()[0]}")
        found, judged, drawn = measure(size, sizes) if name in SIZED else measure(size)
        for what, value in found.items():
            figures[f"{name}: {what}"] = value
            print(f"  {what}: {value}")
        bars |= {f"{name}: {what}": bar for what, bar in judged.items()}
        drawings += [f"<h2>{name}</h2>", *drawn]
    is_full = size == "full"
    figures["bars"] = "judged" if is_full else "not judged: this is not the size that they are set for"
    report = Report("routing", figures, bars, is_full, tuple(drawings))
    print_bars(report)
    return report
