"""The contests of `match`: which workload with which parameters, how many subscriptions, which bars.

A case is data; what is done with it is told in `tamis.lab.measuring.contest`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.report import Size
from tamis.lab.measuring.cases import Case
from tamis.lab.measuring.contestants import and_or

BATCHES = (1, 8, 64, 256, 1_024, 4_096)
BAR_BATCH = 1_024
THREADS_BATCH = 4_096


@dataclass(frozen=True, slots=True)
class MatchCase(Case):
    """A case of `match`, and its bars.

    Attributes:
        subscriptions: At which the bars are set.
        times: How many times as fast as each of these `bitslice` should be in a batch of 1,024; "best" is
            whichever of the others is fastest.
        every_batch: Do they hold for a batch of any size?
        alone: How many times the time of the best contestant one event may take.
        bytes: That a subscription may take in the arrays of the index.
        texts: That are built into an index, a second.
        added: Texts that a matcher adds one by one, a second; not measured if None.
        threads: How many times as fast two threads are, in batches of `THREADS_BATCH`; not measured if None.
        is_wide: Do events have so many columns that Arrow is measured against JSON?
    """

    subscriptions: int = 1_000_000
    times: Mapping[str, float] = field(default_factory=dict)
    every_batch: bool = False
    alone: float | None = 1.0
    bytes: float | None = None
    texts: int = 30_000
    added: int | None = None
    threads: float | None = None
    is_wide: bool = False


def _nested(case: Case) -> MatchCase:
    """Nested conditions that many events satisfy, as in `engines`, where batches of them are judged."""
    return MatchCase(case.label, case.family, case.parameters, subscriptions=100_000, times={"best": 1})


CASES = (
    MatchCase("ranges 0.3", "ranges", {"width": 0.3}, times={"best": 20}, bytes=100, added=8_000, threads=1.8),
    MatchCase("ranges 0.1-0.5", "ranges", {"width": (0.1, 0.5)}, times={"best": 10}),
    MatchCase("ranges 0.6", "ranges", {"width": 0.6}, times={"best": 2}),
    MatchCase("ranges double", "ranges", {"width": 0.3, "kind": "double"}, bytes=250),
    MatchCase("equality", "equality", times={"best": 15}, added=20_000),
    MatchCase("sparse", "sparse", times={"postings": 80}, every_batch=True, is_wide=True),
    MatchCase("ads", "ads", times={"scan": 20, "postings": 20, "bitset": 58}, threads=1.7),
    MatchCase("strings", "strings", times={"best": 10}, texts=50_000),
    MatchCase("auction", "auction", subscriptions=500_000, times={"postings": 20}),
    _nested(and_or()),
    _nested(Case("advertisements", "advertisements")),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Of a case, at most.
        events: That there are.
        batches: Sizes.
        rounds: In which contestants take turns.
        seconds: That a contestant may take in a round, if its batch allows.
        scanned: Subscriptions that `scan` gets, at most.
        builds: Times that an index is built.
        growth: Numbers of subscriptions.
        changed: Subscriptions that are added one by one, and beside a merge.
    """

    subscriptions: int
    events: int
    batches: tuple[int, ...]
    rounds: int
    seconds: float
    scanned: int
    builds: int
    growth: tuple[int, ...]
    changed: int


SCALES: dict[Size, Scale] = {
    "smallest": Scale(300, 128, (1, 64), 1, 0.0, 100, 1, (200, 400, 800), 100),
    "quick": Scale(20_000, 2_048, (1, 64, 1_024), 3, 0.03, 500, 3, (5_000, 15_000, 50_000), 1_000),
    "full": Scale(
        1_000_000,
        8_192,
        BATCHES,
        5,
        0.3,
        10_000,
        2,
        (10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000),
        20_000,
    ),
}


def cases_of(names: Sequence[str]) -> tuple[MatchCase, ...]:
    """The cases of these families, or of these labels; all if there are no names."""
    known = {case.family for case in CASES} | {case.label for case in CASES}
    unknown = sorted(set(names) - known)
    if unknown:
        msg = f"there is no family {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        raise SystemExit(msg)
    return tuple(case for case in CASES if not names or {case.family, case.label} & set(names))
