"""Rows of S. Bittner's thesis (2008) on advertisements, B44 to B56: overlap, and pruned advertisements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tamis.lab.bittner.memory import MemoryParameters, memory
from tamis.lab.bittner.overlap import ConjunctiveIndex
from tamis.lab.claims import advertising_policies, overlaps, pruned_advertisements
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner import BITTNER
from tamis.lab.claims.bittner_paths import (
    LINE,
    ROUNDS,
)
from tamis.lab.claims.row import (
    Direction,
    Outcome,
    above,
    all_of,
    below,
    figure,
    is_true,
    near,
)
from tamis.lab.measuring.curves import bend, exponent
from tamis.lab.measuring.timing import timed
from tamis.lab.workloads import generate
from tamis.lab.workloads.advertisements import CLASSES
from tamis.language.bulk import compile_conditions
from tamis.routing.overlap import OverlapIndex

__all__ = ("BITTNER",)

# --- 8.5: overlap ------------------------------------------------------------------------------------------------

_ADVERTISED = "`auction` subscriptions, overlaps with `advertisements` of eight classes"


def _overlap(bench: Bench) -> dict[int, dict[str, tuple[float, ...]]]:
    """Milliseconds a subscription by number of advertisements, contestant and problem; a number a round."""

    def make() -> dict[int, dict[str, tuple[float, ...]]]:
        part = overlaps
        full = (20_000, 50_000, 80_000, 120_000, 200_000, 300_000, 500_000)
        sizes = bench.pick((40, 80), (500, 1_000, 2_000, 4_000), full)
        given = part.auctions(bench.pick(10, 30, 45), sizes[-1])
        asked = given.subscriptions[: bench.pick(10, 30, 45)]
        indexes: dict[str, OverlapIndex | ConjunctiveIndex] = {
            "Boolean": OverlapIndex([given.event_type]),
            "conjunctive": ConjunctiveIndex([given.event_type]),
        }
        problems = {"function": part.function_problems, "decision": part.decision_problems}
        found: dict[int, dict[str, tuple[float, ...]]] = {}
        filed = 0
        for count in bench.within_budget(sizes):
            bench.progress(f"overlap with {count} advertisements")
            for index in indexes.values():
                for place in range(filed, count):
                    index.add(str(place), given.name, given.advertisements[place])
            filed = count
            many, few = (part.function_problems(index, given.name, asked) for index in indexes.values())
            if not all(set(one) <= set(other) for one, other in zip(few, many, strict=True)):
                msg = f"{count} advertisements: the conjunctive index finds overlaps that the Boolean one does not"
                raise SystemExit(msg)
            rounds: dict[str, list[float]] = {}
            for _ in range(bench.pick(1, ROUNDS, ROUNDS)):
                for name, index in indexes.items():
                    for problem, ask in problems.items():
                        seconds = timed(partial(ask, index, given.name, asked))
                        rounds.setdefault(f"{name}, {problem}", []).append(1e3 * seconds / len(asked))
            found[count] = {name: tuple(each) for name, each in rounds.items()}
        return found

    return bench.once("overlap", make)


def _by(bench: Bench, one: str, other: str) -> tuple[int, tuple[float, ...]]:
    found = _overlap(bench)
    count = max(found)
    return count, tuple(a / max(b, 1e-9) for a, b in zip(found[count][one], found[count][other], strict=True))


@BITTNER.row(
    "B44",
    "8.5.1",
    "Deciding whether any overlap exists takes a fifth of the time of finding all; both are linear.",
    ".2",
    "time of decision / function; exponents over advertisements",
    workload=_ADVERTISED,
)
def _decision(bench: Bench) -> Outcome:
    found = _overlap(bench)
    count, ratio = _by(bench, "Boolean, decision", "Boolean, function")
    slopes = {
        name: exponent([*found], [float(np.median(each[name])) for each in found.values()])
        for name in ("Boolean, decision", "Boolean, function")
    }
    return Outcome(
        below(ratio, 1),
        [
            figure(f"decision / function at {count}", ratio, 0.2),
            *(figure(f"{name}: exponent", each, 1.0) for name, each in slopes.items()),
        ],
    )


@BITTNER.row(
    "B45",
    "8.5.2",
    "With conjunctions, deciding saves little over finding all.",
    "80% to 92% of the time",
    "time of decision / function",
    workload=_ADVERTISED,
)
def _conjunctive_decision(bench: Bench) -> Outcome:
    count, ratio = _by(bench, "conjunctive, decision", "conjunctive, function")
    return Outcome(
        above(ratio, 0.5),
        [figure(f"decision / function at {count}", ratio, (0.80, 0.92))],
        "both indexes end here with the first overlap that they see",
    )


@BITTNER.row(
    "B46",
    "8.5.2",
    "Deciding takes a fraction of the time with Boolean expressions instead of conjunctions.",
    "28% at 500,000",
    "time of decision, Boolean / conjunctive",
    workload=_ADVERTISED,
)
def _decisions(bench: Bench) -> Outcome:
    count, ratio = _by(bench, "Boolean, decision", "conjunctive, decision")
    return Outcome(below(ratio, 1), [figure(f"at {count}", ratio, 0.28, (count, 500_000))])


@BITTNER.row(
    "B47",
    "8.5.2-3",
    "Finding all overlaps is faster with conjunctions.",
    "12% (or 13%) at 500,000",
    "share of the Boolean time that is saved",
    workload=_ADVERTISED,
    contradicts="itself: 12% in one place, 13% in another",
)
def _functions(bench: Bench) -> Outcome:
    count, ratio = _by(bench, "conjunctive, function", "Boolean, function")
    saves = tuple(1 - each for each in ratio)
    nearer = "12%" if abs(float(np.median(saves)) - 0.12) < abs(float(np.median(saves)) - 0.13) else "13%"
    return Outcome(
        above(saves, 0),
        [figure(f"saved at {count}", saves, (0.12, 0.13), (count, 500_000))],
        f"the nearer of their two figures: {nearer}",
    )


@BITTNER.row(
    "B48",
    "8.5.1-2",
    "The curves of time bend at 200,000 and 80,000 advertisements.",
    "2.5 times apart",
    "best two lines through times",
    workload=_ADVERTISED,
)
def _overlap_bends(bench: Bench) -> Outcome:
    found = _overlap(bench)
    at = {}
    for name in ("Boolean", "conjunctive"):
        bent = bend([*found], [float(np.median(each[f"{name}, function"])) for each in found.values()])
        if bent is not None and bent.saved > 0.5 and bent.after > bent.before:
            at[name] = bent.at
    if len(at) < 2:
        large = max(found) >= 500_000
        return Outcome("fails" if large else "unclear", (), "no bend stands out in both curves")
    ratio = at["Boolean"] / at["conjunctive"]
    return Outcome(above(ratio, 1), [figure("Boolean / conjunctive", ratio, 2.5, (max(found), 500_000))])


@BITTNER.row(
    "B49",
    "8.5.2",
    "Finding overlaps needs more memory with conjunctions.",
    "no figure",
    "bytes in the model, class by class",
    workload="`advertisements`, eight classes",
    contradicts="its own model, which says so of one class of eight",
)
def _bytes_by_class(bench: Bench) -> Outcome:
    more, figures = [], []
    for place in range(len(CLASSES)):
        weights = tuple(float(place == each) for each in range(len(CLASSES)))
        drawn = generate(
            "advertisements", subscriptions=bench.pick(20, 200, 2_000), events=1, seed=bench.seed, classes=weights
        )
        engines = memory(MemoryParameters.of(compile_conditions(drawn.conditions, drawn.event_type))).engines
        ratio = engines["counting"].bytes_per_subscription / engines["hits"].bytes_per_subscription
        figures.append(figure(f"A{place + 1}: conjunctive / Boolean", ratio))
        more += [f"A{place + 1}"] if ratio > 1 else []
    return Outcome(
        is_true(len(more) == len(CLASSES)),
        figures,
        f"conjunctions need more in {', '.join(more) or 'no class'} only",
    )


# --- 8.6: advertisements are pruned ------------------------------------------------------------------------------


def _effort(bench: Bench) -> overlaps.Effort:
    return overlaps.Effort(*bench.pick((20, 10, 1), (90, 30, 1), (150, 45, 2)))


def _advertised(bench: Bench) -> Any:
    """Steps of pruning advertisements to the end."""

    def make() -> Any:
        sizes = bench.pick((60, 40), (300, 160), (100_000, 50_000))
        given = overlaps.auctions(*sizes, bench.pick(300, 2_000, 20_000))
        bench.progress(f"pruning {len(given.advertisements)} advertisements")
        steps = bench.pick(4, 12, 20)
        return pruned_advertisements.pruned(given, given.subscriptions, _effort(bench), steps)

    return bench.once("advertised", make)


@BITTNER.row(
    "B50",
    "8.6.1",
    "After all possible prunings, advertisements have lost most of their associations.",
    "M^adv .72",
    "M^adv",
    workload=_ADVERTISED,
)
def _advertisements(bench: Bench) -> Outcome:
    removed = _advertised(bench)[-1].removed
    return Outcome(
        above(removed, 0.5),
        [figure("M^adv in the end", removed, 0.72)],
        "for equal eighths the limit is 1 - 11/49 = .78",
    )


@BITTNER.row(
    "B51",
    "8.6.1",
    "Finding overlaps is cheaper with pruned advertisements.",
    "finding all 105 to 85 ms; deciding 9 to 5 ms",
    "time in the end relative to before",
    workload=_ADVERTISED,
    contradicts="the text, which calls the 44% saved the time that remains",
)
def _cheaper(bench: Bench) -> Outcome:
    first, last = _advertised(bench)[0].answers, _advertised(bench)[-1].answers
    function, decision = last.function_ms / first.function_ms, last.decision_ms / first.decision_ms
    return Outcome(
        all_of(below(function, 1), below(decision, 1)),
        [figure("function", function, 85 / 105), figure("decision", decision, 5 / 9)],
        f"saved of decision: {1 - decision:.0%}; the 44% can only be what is saved",
    )


@BITTNER.row(
    "B52",
    "8.6.1",
    "Hypothesis 2b: pruning advertisements adds few overlaps.",
    "overlap .46 to .63",
    "share of pairs that overlap, before and in the end",
    workload=_ADVERTISED,
)
def _little_more(bench: Bench) -> Outcome:
    steps = _advertised(bench)
    first, last = steps[0].answers.share, steps[-1].answers.share
    middle = pruned_advertisements.at(steps, 0.37, "share")
    return Outcome(
        below(last - first, 0.25),
        [figure("before", first, 0.46), figure("at M^adv .37", middle, 0.50), figure("in the end", last, 0.63)],
    )


@BITTNER.row(
    "B53",
    "8.6.1",
    "Finding all takes constant time until M^adv .4, then less; beyond .6 there are fewer candidates.",
    "trend",
    "candidates, then time over M^adv",
    workload=_ADVERTISED,
)
def _flat_function(bench: Bench) -> Outcome:
    steps, at = _advertised(bench), pruned_advertisements.at
    early, late = (at(steps, each, "function_ms") / at(steps, 0.0, "function_ms") for each in (0.4, 1.0))
    fewer = [step.removed for step in steps if step.answers.candidates < steps[0].answers.candidates]
    figures = [figure("function at .4 relative to before", early, 1.0), figure("function in the end", late)]
    if fewer:
        figures.insert(0, figure("candidates are fewer from M^adv", min(fewer), 0.6))
    return Outcome(all_of(near(early, 1, 0.25), below(late, early)), figures)


def _both(bench: Bench) -> tuple[Any, dict[float, Any]]:
    """What advertisements answer to pruned subscriptions; and courses of advertisements after these."""

    def make() -> tuple[Any, dict[float, Any]]:
        data, part, effort = overlaps, pruned_advertisements, _effort(bench)
        sizes = bench.pick((40, 24), (150, 80), (20_000, 8_000))
        given = data.auctions(*sizes, bench.pick(300, 2_000, 20_000))
        bench.progress(f"pruning {len(given.subscriptions)} subscriptions, then advertisements")
        levels = part.levels(given, (0.0, 0.19, 0.28, 0.66, 1.0))
        index = data.filed(given.advertisements, given.event_type)
        alone = [
            part.Step(each.removed, data.answers(index, given.name, each.subscriptions[: effort.asked], effort))
            for each in levels
        ]
        courses = {
            each.removed: part.pruned(given, each.subscriptions, effort, 4) for each in (levels[0], levels[-1])
        }
        return alone, courses

    return bench.once("both", make)


@BITTNER.row(
    "B54",
    "8.6.2",
    "Pruning subscriptions speeds up finding overlaps; pruning advertisements as well then adds less.",
    "deciding 8.7 to 1.8 ms, extra 45% to 11%; finding all 108-86 to 38-34 ms",
    "time of decision and function after both prunings",
    workload=_ADVERTISED,
)
def _one_after_the_other(bench: Bench) -> Outcome:
    alone, courses = _both(bench)
    first, last = alone[0].answers, alone[-1].answers
    extra = [1 - each[-1].answers.decision_ms / each[0].answers.decision_ms for each in courses.values()]
    return Outcome(
        all_of(below(last.decision_ms / first.decision_ms, 1), below(extra[-1], extra[0])),
        [
            figure("decision, subscriptions pruned / not", last.decision_ms / first.decision_ms, 1.8 / 8.7),
            figure("function, subscriptions pruned / not", last.function_ms / first.function_ms, 38 / 108),
            figure("decision saved by advertisements, subscriptions not pruned", extra[0], 0.45),
            figure("decision saved by advertisements, subscriptions pruned", extra[-1], 0.11),
        ],
    )


@BITTNER.row(
    "B55",
    "8.6.2",
    "Pruning advertisements hardly increases overlap; pruning subscriptions does.",
    "at M .28: overlap .48 and .75; at overlap .65: M .72 and .19",
    "share of pairs that overlap over both M",
    workload=_ADVERTISED,
)
def _keeps(bench: Bench) -> Outcome:
    part = pruned_advertisements
    alone, courses = _both(bench)
    advertised = courses[min(courses)]
    ours = [part.at(each, 0.28, "share") for each in (advertised, alone)]
    removed = [part.largest(part.shares(each), 0.65) for each in (advertised, alone)]
    return Outcome(
        all_of(below(ours[0], ours[1]), above(removed[0], removed[1])),
        [
            figure("advertisements: overlap at .28", ours[0], 0.48),
            figure("subscriptions: overlap at .28", ours[1], 0.75),
            figure("advertisements: removed while overlap is at most .65", removed[0], 0.72),
            figure("subscriptions: removed while overlap is at most .65", removed[1], 0.19),
            *(figure(f"M^adv in the end after {each:.2f}", steps[-1].removed) for each, steps in courses.items()),
        ],
    )


@BITTNER.row(
    "B56",
    "8.6.3",
    "Where there are advertisements, they should be pruned instead of subscriptions.",
    "not measured in the thesis",
    "bytes of all tables, and messages, of four policies",
    workload=f"{LINE}, with advertisements",
)
def _policies(bench: Bench) -> Outcome:
    data, part = overlaps, advertising_policies
    subscriptions, most = bench.pick((20, 10), (60, 500), (1_000, 4_000))
    figures, directions = [], []
    for publishers in bench.pick((1,), (1, 8), (1, 4, 16, 100)):
        given = data.auctions(subscriptions, publishers * part.BROKERS, bench.pick(300, 1_000, 20_000))
        events = part.conforming(given, most)
        runs: dict[str, Any] = {}
        for name in ("nothing pruned", "subscriptions pruned", "advertisements pruned", "both pruned"):
            bench.progress(f"{publishers} advertisements a broker: {name}")
            runs[name] = part.ran(given, part.POLICIES[name], events)
            part.check_delivered(name, runs[name], runs["nothing pruned"])
        sizes = {name: run.event_table_bytes + run.subscription_table_bytes for name, run in runs.items()}
        sent = {name: float(sum(run.report.messages.values())) for name, run in runs.items()}
        for kind, found in (("bytes", sizes), ("messages", sent)):
            figures += [
                figure(f"{publishers} per broker: {name}, {kind}", each / found["nothing pruned"])
                for name, each in found.items()
                if name != "nothing pruned"
            ]
        directions.append(is_true(sizes["advertisements pruned"] < sizes["subscriptions pruned"]))
    return Outcome(
        _agreed(directions), figures, f"{subscriptions} subscriptions; the thesis concludes without a run"
    )


def _agreed(directions: Sequence[Direction]) -> Direction:
    """Of runs that may contradict each other."""
    return directions[0] if len(set(directions)) == 1 else "unclear"
