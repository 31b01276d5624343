"""Matching: `bitslice` against `bitset`, `postings` and `scan`, on generated workloads, in one run.

Each case of `benchmarks.families` is a contest: first the pairs of all contestants are compared, then they take
turns with batches of each size. Besides: rates of building, adding and removing, bytes, growth, and what a call
costs.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from benchmarks import growth
from benchmarks.families import BAR_BATCH, CASES, SCALES, MatchCase, Scale, cases_of
from benchmarks.limits import HEADS, Memory, limit_of, measure_memory
from benchmarks.memory import array_bytes, measure_peak
from benchmarks.report import Bar, Figures, Report, Size, number, print_bars, spread
from benchmarks.threads import measure_threads
from benchmarks.updates import measure_added_texts, measure_pauses, measure_updates
from benchmarks.wide_tables import measure_wide_tables
from tamis import Matcher
from tamis.engines import ENGINES
from tamis.engines.bitslice import BitsliceIndex
from tamis.engines.forest import forest_of
from tamis.lab.measuring.cases import Data, data_of
from tamis.lab.measuring.contest import NAMES, OURS, Contestant, Run, compare_pairs, contest, enter
from tamis.lab.measuring.timing import Times, rates
from tamis.language.bulk import compile_conditions
from tamis.report import charts

_OVERHEAD_MICROSECONDS = 20.0
_OVERHEAD_CALLS = 500
_FORMULAS_A_SECOND = 200_000
_EXPONENT = 0.9
_UPDATED = "ranges 0.3"
_WARM = 300
_WIDTHS = (6, 10, 26, 26, 26, 10)


@dataclass(slots=True)
class _Outcome:
    """What is gathered while the benchmark runs."""

    figures: Figures = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    drawings: list[str] = field(default_factory=list)
    limits: dict[str, list[str]] = field(default_factory=dict)
    memory: Memory = field(default_factory=measure_memory)
    started: float = field(default_factory=time.perf_counter)

    def progress(self, what: str) -> None:
        """Tell what goes on, to whoever waits."""
        print(f"[{time.perf_counter() - self.started:6.0f} s] {what}", file=sys.stderr, flush=True)


def run(
    size: Size, families: Sequence[str] = (), subscriptions: int | None = None, batches: Sequence[int] = ()
) -> Report:
    """Measure the cases of some families, all by default.

    Args:
        size: How much to measure; bars are judged at full size only.
        families: Names of families or labels of cases.
        subscriptions: How many, instead of what goes with the size.
        batches: Sizes of batches, instead of what goes with the size.
    """
    cases = cases_of(families)
    scale = SCALES[size]
    if batches:
        most = max(batches)
        scale = replace(scale, batches=tuple(sorted(set(batches))), events=max(scale.events, 2 * most))
    outcome = _Outcome()
    _overhead(outcome, scale)
    for case in cases:
        count = subscriptions or min(case.subscriptions, scale.subscriptions)
        if size != "smallest":
            outcome.progress(f"{case.label}: warming up")
            _warm(case, scale)
        _measure(case, count, scale, outcome)
    if any(case.family == growth.CASE.family for case in cases) and subscriptions is None:
        _growth(scale, outcome)
    _print_limits(outcome)
    judged = size == "full" and not batches and (subscriptions is None or subscriptions == CASES[0].subscriptions)
    outcome.figures["bars"] = "judged" if judged else "not judged: this is not the size that they are set for"
    report = Report("match", outcome.figures, outcome.bars, judged, tuple(outcome.drawings))
    print_bars(report)
    return report


def _warm(case: MatchCase, scale: Scale) -> None:
    """Compile the kernels: everything once, on little data."""
    data = data_of(case, _WARM, 2 * max(scale.batches))
    contestants = [enter(name, data, _WARM) for name in NAMES if name != "scan"]
    compare_pairs(contestants, data, scale.batches)


def _measure(case: MatchCase, count: int, scale: Scale, outcome: _Outcome) -> None:
    outcome.progress(f"{case.label}: generating and compiling {count} subscriptions")
    data = data_of(case, count, scale.events)
    contestants: list[Contestant] = []
    built = {name: Times() for name in NAMES}
    for name in NAMES:
        outcome.progress(f"{case.label}: building {name}")
        contestants.append(enter(name, data, scale.scanned, built[name]))
    gc.collect()
    gc.freeze()  # formulas of scan are many objects, and no contestant should wait for a walk through them
    outcome.progress(f"{case.label}: comparing pairs")
    compared = compare_pairs(contestants, data, scale.batches)
    agree = ", ".join(f"{name} on {rows} events" for name, rows in compared.items())
    print(f"\n{case.label}: {count} subscriptions; the pairs of {OURS} are those of {agree}")
    rows = max(scale.batches)
    matches = len(contestants[0].index.match(data.batch(0, rows)).slots) / rows
    outcome.figures[f"{case.label}: subscriptions"] = count
    outcome.figures[f"{case.label}: matches an event"] = number(matches)
    print(f"{number(matches)} matches an event; median (least-greatest) of {scale.rounds} rounds")
    runs: dict[int, list[Run]] = {}
    for batch in scale.batches:
        outcome.progress(f"{case.label}: batches of {batch}")
        runs[batch] = contest(contestants, data, batch, scale.rounds, scale.seconds)
    gc.unfreeze()
    _print(case, runs, contestants)
    _record(case, runs, outcome)
    _judge(case, runs, outcome)
    _limit(case, data, runs, contestants, outcome)
    _bytes(case, data, contestants, outcome)
    _built(case, data, built, scale, contestants, outcome)
    del contestants
    if case.label == _UPDATED:
        outcome.progress(f"{case.label}: adding and removing")
        measure_updates(case.label, data, scale, outcome.figures, outcome.bars)
        outcome.progress(f"{case.label}: adding beside a merge")
        measure_pauses(case.label, data, scale, outcome.figures, outcome.bars)
        outcome.progress(f"{case.label}: memory while adding")
        measure_peak(case.label, data, outcome.figures, outcome.bars)
    if case.added is not None:
        outcome.progress(f"{case.label}: adding texts one by one")
        measure_added_texts(case.label, data, scale, case.added, outcome.figures, outcome.bars)
    if case.threads is not None:
        outcome.progress(f"{case.label}: two threads")
        measure_threads(case.label, data, scale, case.threads, outcome.figures, outcome.bars)
    if case.is_wide:
        outcome.progress(f"{case.label}: Arrow and JSON")
        measure_wide_tables(case.label, data, scale, outcome.figures, outcome.bars)


def _print(case: MatchCase, runs: dict[int, list[Run]], contestants: Sequence[Contestant]) -> None:
    heads = ("batch", "engine", "us/event of CPU", "us/event on the wall", "us/match", "events timed")
    print("".join(f"{head:{width}} " for head, width in zip(heads, _WIDTHS, strict=True)))
    for batch, several in runs.items():
        for each in several:
            cells = (
                str(batch),
                each.name,
                spread(each.microseconds),
                spread([seconds * 1e6 for seconds in each.times.wall]),
                spread(_per_match(each)) if _per_match(each) else "-",
                f"{each.rows * each.calls} a round",
            )
            print("".join(f"{cell:{width}} " for cell, width in zip(cells, _WIDTHS, strict=True)))
    everyone = max(each.subscriptions for each in contestants)
    for one in contestants:
        if one.subscriptions < everyone:
            print(f"{one.name} had the first {one.subscriptions} subscriptions only: its times are lower bounds")


def _per_match(each: Run) -> list[float]:
    return [time / pairs for time, pairs in zip(each.microseconds, each.pairs, strict=True) if pairs]


def _record(case: MatchCase, runs: dict[int, list[Run]], outcome: _Outcome) -> None:
    figures = outcome.figures
    for batch, several in runs.items():
        for each in several:
            name = f"{case.label}, batch {batch}: {each.name}"
            bound = " (a lower bound)" if each.lower_bound else ""
            figures[f"{name}, us/event"] = spread(each.microseconds) + bound
            figures[f"{name}, wall us/event"] = spread([seconds * 1e6 for seconds in each.times.wall]) + bound
            if each.lower_bound:
                continue
            figures[f"{name}, events/s"] = spread([1e6 / time for time in each.microseconds])
            if _per_match(each):
                figures[f"{name}, us/match"] = spread(_per_match(each))
        ours, *others = several
        for other in others:
            bound = " (at least)" if other.lower_bound else ""
            figures[f"{case.label}, batch {batch}: times {other.name}"] = spread(_ratios(other, ours)) + bound
    groups = {f"batch {batch}": {each.name: each.median for each in several} for batch, several in runs.items()}
    outcome.drawings.append(charts.bars(case.label, "us/event", groups))


def _ratios(slow: Run, fast: Run) -> list[float]:
    """Of the rounds that both took part in."""
    return [one / other for one, other in zip(slow.microseconds, fast.microseconds, strict=False)]


def _judge(case: MatchCase, runs: dict[int, list[Run]], outcome: _Outcome) -> None:
    bars = outcome.bars
    largest = BAR_BATCH if BAR_BATCH in runs else max(runs)
    for name, wanted in case.times.items():
        for batch in runs if case.every_batch else (largest,):
            ours, *others = runs[batch]
            rival = _best(others) if name == "best" else next(each for each in others if each.name == name)
            title = f"the best other, {rival.name}" if name == "best" else name
            value = round(median(_ratios(rival, ours)), 2)
            bars[f"{case.label}, batch {batch}: times as fast as {title}"] = Bar(value, wanted)
    if 1 in runs and case.alone is not None:
        ours, *others = runs[1]
        rival = _best(others)
        value = round(median(_ratios(ours, rival)), 2)
        bars[f"{case.label}, one event: time against the best other, {rival.name}"] = Bar(
            value, case.alone, at_most=True
        )


def _best(others: Sequence[Run]) -> Run:
    return min(others, key=lambda each: each.median)


def _limit(
    case: MatchCase, data: Data, runs: dict[int, list[Run]], contestants: Sequence[Contestant], outcome: _Outcome
) -> None:
    """How near the engine is to the speed of memory."""
    batch = BAR_BATCH if BAR_BATCH in runs else max(runs)
    index = contestants[0].index
    assert isinstance(index, BitsliceIndex), "ours is the first"
    found = limit_of(index, data.batch(0, batch), runs[batch][0].median, outcome.memory)
    cells = {head: number(cell) for head, cell in zip(HEADS, found.cells(), strict=True)}
    outcome.figures[f"{case.label}, batch {batch}: limit"] = ", ".join(
        f"{head} {cell}" for head, cell in cells.items()
    )
    outcome.limits[case.label] = list(cells.values())


def _print_limits(outcome: _Outcome) -> None:
    read, copied = (number(speed / 1e9) for speed in outcome.memory)
    outcome.figures["memory, GB/s that one thread reads"] = read
    outcome.figures["memory, GB/s that one thread copies"] = copied
    print(f"\nagainst memory that one thread reads at {read} GB/s and copies at {copied} GB/s")
    width = max(len(label) for label in outcome.limits)
    print(f"{'':{width}}  " + "  ".join(HEADS))
    for label, cells in outcome.limits.items():
        line = (f"{cell:>{len(head)}}" for head, cell in zip(HEADS, cells, strict=True))
        print(f"{label:{width}}  " + "  ".join(line))


def _bytes(case: MatchCase, data: Data, contestants: Sequence[Contestant], outcome: _Outcome) -> None:
    figures = outcome.figures
    count = len(data.forest)
    for each in contestants:
        if each.subscriptions < count or each.name == "scan":
            continue
        sizes = each.index.stats().bytes
        own = sum(sizes.values()) / count
        name = f"{case.label}: {each.name}"
        figures[f"{name}, index arrays, bytes/subscription"] = number(own)
        figures[f"{name}, all arrays held, bytes/subscription"] = number(array_bytes(each.index) / count)
        if each.name == OURS:
            for structure, size in _by_structure(sizes).items():
                figures[f"{name}, {structure} of the index, bytes/subscription"] = number(size / count)
            if case.bytes is not None:
                title = f"{case.label}: index arrays, bytes/subscription"
                outcome.bars[title] = Bar(round(own, 1), case.bytes, at_most=True)
        print(f"{each.name}: {number(own)} bytes a subscription in index arrays")
    figures[f"{case.label}: ids, bytes/subscription"] = number(data.workload.ids.nbytes / count)
    figures[f"{case.label}: texts, bytes/subscription"] = number(data.workload.conditions.nbytes / count)


def _by_structure(sizes: dict[str, int]) -> dict[str, int]:
    """Bytes by the first part of their names."""
    found: dict[str, int] = {}
    for name, size in sizes.items():
        structure = name.split(".")[0]
        found[structure] = found.get(structure, 0) + size
    return found


def _built(
    case: MatchCase,
    data: Data,
    built: dict[str, Times],
    scale: Scale,
    contestants: Sequence[Contestant],
    outcome: _Outcome,
) -> None:
    """Rates of building; a first match counts as part of it, because something may be made only then."""
    count = len(data.forest)
    first = data.batch(0, 1)
    for repeat in range(scale.builds - 1):
        outcome.progress(f"{case.label}: building again, {repeat + 2} of {scale.builds}")
        with data.compiled.taken():
            column = compile_conditions(data.workload.conditions, data.workload.event_type)
        with data.filed.taken():
            forest = forest_of(column)
        with built[OURS].taken():
            ENGINES[OURS].build(forest, data.statistics).match(first)
    figures = outcome.figures
    figures[f"{case.label}: compiling, conditions a second"] = rates(data.compiled, count)
    for each in contestants:
        figures[f"{case.label}: building {each.name} from arrays, a second"] = rates(
            built[each.name], each.subscriptions
        )
    from_formulas = [sum(parts) for parts in zip(data.filed.cpu, built[OURS].cpu, strict=True)]
    from_text = [sum(parts) for parts in zip(data.compiled.cpu, from_formulas, strict=True)]
    for source, seconds, bar in (
        ("formulas", from_formulas, _FORMULAS_A_SECOND),
        ("text", from_text, case.texts),
    ):
        title = f"{case.label}: building from {source}, a second"
        figures[title] = rates(Times(seconds), count)
        outcome.bars[title] = Bar(round(count / median(seconds)), bar)
        print(f"{title}: {figures[title]}")


def _growth(scale: Scale, outcome: _Outcome) -> None:
    measured = growth.points(scale, outcome.progress)
    print("\ngrowth of sparse")
    for point in measured:
        title = f"growth, {point.subscriptions} subscriptions"
        outcome.figures[f"{title}: us/event"] = spread(point.microseconds)
        outcome.figures[f"{title}: matches an event"] = number(point.pairs)
        print(f"{title}: {spread(point.microseconds)} us/event, {number(point.pairs)} matches an event")
    outcome.figures["growth: exponent"] = number(growth.exponent(measured))
    late = [point for point in measured if point.subscriptions >= growth.BAR_FROM]
    least = growth.BAR_FROM if len(late) > 1 else measured[0].subscriptions
    value = growth.exponent(late if len(late) > 1 else measured)
    outcome.figures[f"growth from {least}: exponent"] = number(value)
    outcome.bars[f"growth from {least}: exponent"] = Bar(round(value, 3), _EXPONENT, at_most=True)
    line = [(float(point.subscriptions), median(point.microseconds)) for point in measured]
    outcome.drawings.append(charts.lines("growth of sparse", "us/event", {OURS: line}))


def _overhead(outcome: _Outcome, scale: Scale) -> None:
    """What a call costs if there is nothing to match."""
    data = data_of(CASES[0], 1, 64)
    events = data.workload.events.slice(0, 64).to_pylist()
    matcher = Matcher(data.workload.event_type)
    matcher.match(events[0])
    times = Times()
    for _ in range(max(3, scale.rounds)):
        with times.taken():
            for call in range(_OVERHEAD_CALLS):
                matcher.match(events[call % len(events)])
    each = [seconds / _OVERHEAD_CALLS * 1e6 for seconds in times.cpu]
    title = "empty matcher: us/call"
    outcome.figures[title] = spread(each)
    outcome.bars[title] = Bar(round(median(each), 2), _OVERHEAD_MICROSECONDS, at_most=True)
    print(f"{title}: {spread(each)}")
