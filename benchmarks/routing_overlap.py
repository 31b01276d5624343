"""Overlap of subscriptions with advertisements, and the pruning of advertisements: parts of `routing`.

After S. Bittner's thesis (2008), sections 8.5 and 8.6; ids of claims stand at the parts. Times are the processor's
and compared within one run; what is found is checked before anything is told (`benchmarks.routing_overlap_check`).
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.routing_overlap_data import Found
from benchmarks.routing_overlap_policies import policies
from benchmarks.routing_overlap_problems import bytes_by_class, overlap
from benchmarks.routing_overlap_pruning import advertisements, both


def parts() -> dict[str, Callable[..., Found]]:
    """The parts by name; each gives figures, bars and drawings."""
    return {
        "overlap": overlap,
        "advertisements": advertisements,
        "both": both,
        "policies": policies,
        "memory": bytes_by_class,
    }
