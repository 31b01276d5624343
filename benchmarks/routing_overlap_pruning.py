"""Parts on the pruning of advertisements: what it removes, and how much more overlaps.

Overlap is counted in pairs of a subscription and an advertisement. Before pruning, its share follows from the
classes: a third of the subscriptions asks for no price and overlaps with all advertisements, the others with
hardly any that has a title. The most that pruning makes of it is about .75, since titles are kept: three of eight
classes of advertisements have one, and two of three classes of subscriptions.

In the end more is removed than in the thesis, which stops at .72 where its overlap is .63: here prices above one
or above another are one predicate, and ties go by bytes saved. Shares are to be compared where as much is removed.
Prunings are ranked by the events that predicates were counted in; without counts overlap rises much sooner.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Bar, Figures, Size, number, table
from benchmarks.routing_overlap_data import Found, Scale, scale_of
from tamis.lab.claims.networks import progress
from tamis.lab.claims.overlaps import (
    SEED,
    Answers,
    Auctions,
    answers,
    auctions,
    compiled,
    filed,
    function_problems,
    is_part,
)
from tamis.lab.claims.pruned_advertisements import (
    LEAST_REMOVED,
    MOST_RISE,
    Level,
    Step,
    at,
    largest,
    levels,
    pruned,
    shares,
)
from tamis.lab.workloads import generate
from tamis.lab.workloads.auction import CLASSES, DISTRIBUTIONS

_KEPT = f"share removed while overlap rises by {MOST_RISE} at most"
LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.28, 0.4, 0.5, 0.6, 0.66, 0.75, 1.0)
"""Shares of the associations of subscriptions that are removed; of the last, as many as can be."""
FOLLOWED = (0.28, 0.5, 0.66, 0.84)
"""Those after which advertisements are pruned."""
_NEAR = 0.03


def advertisements(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Steps of pruning for each distribution of operands (B50 to B53)."""
    scale = scale_of(size, sizes)
    figures: Figures = {}
    bars: dict[str, Bar] = {}
    drawings: list[str] = []
    for operands in DISTRIBUTIONS:
        is_main = operands == "uniform"
        given = auctions(*(scale.pruned if is_main else scale.others), scale.events, operands=operands)
        steps = _course(given, operands, scale, scale.steps if is_main else scale.steps // 2, figures)
        drawings.append(f"<h3>{operands} operands</h3>{_table(steps)}")
        if is_main:
            figures |= {f"{operands}: {what}": value for what, value in _in_detail(steps).items()}
            figures |= {f"{operands}: {what}": value for what, value in _by_class(given, scale).items()}
            bars[f"{operands}: {_KEPT}"] = Bar(round(kept(steps), 3), LEAST_REMOVED)
    _course(auctions(*scale.others), "uniform, no events counted", scale, scale.steps // 2, figures)
    return figures, bars, drawings


def _course(given: Auctions, title: str, scale: Scale, count: int, figures: Figures) -> list[Step]:
    """Prune, and tell of all that is told of every course."""
    sizes = f"{len(given.subscriptions)} subscriptions, {len(given.advertisements)} advertisements"
    progress(f"advertisements: {title}, {sizes}")
    steps = pruned(given, given.subscriptions, scale.effort, count)
    first, last = steps[0].answers, steps[-1].answers
    figures[f"{title}: sizes (thesis: 100000 and 50000)"] = sizes
    figures[f"{title}: overlap share before (thesis: .46)"] = f"{first.share:.3f}"
    figures[f"{title}: share removed in the end (thesis: .72, by structure .78)"] = f"{steps[-1].removed:.3f}"
    figures[f"{title}: overlap share in the end (thesis: .63)"] = f"{last.share:.3f}"
    figures[f"{title}: {_KEPT}"] = f"{kept(steps):.3f}"
    return steps


def kept(steps: Sequence[Step]) -> float:
    """The share removed while overlap rises by no more than it may."""
    return largest(shares(steps), steps[0].answers.share + MOST_RISE)


def _in_detail(steps: Sequence[Step]) -> Figures:
    """What else a course of pruning says."""
    most = steps[0].answers.candidates
    fewer = [step.removed for step in steps if step.answers.candidates < most]
    figures: Figures = {}
    for removed, thesis in ((0.37, ".50"), (0.55, ".56"), (0.72, ".63")):
        share = at(steps, removed, "share")
        figures[f"overlap share at {removed} removed (thesis: {thesis})"] = f"{share:.3f}"
    for what, thesis in (("function_ms", "85 / 105"), ("decision_ms", "5 / 9"), ("candidates", "below 1")):
        before = at(steps, 0.0, what)
        figures[f"{what}, in the end by before (thesis: {thesis})"] = number(at(steps, 1.0, what) / before)
        figures[f"{what}, at .4 removed by before"] = number(at(steps, 0.4, what) / before)
    figures["candidates are fewer than before from (thesis: .6)"] = (
        f"{min(fewer):.3f} removed" if fewer else "never"
    )
    for step in steps:
        figures[f"{step.removed:.3f} removed"] = _line(step.answers)
    return figures


def _line(found: Answers) -> str:
    return (
        f"overlap {found.share:.3f}, function {number(found.function_ms)} ms, "
        f"decision {number(found.decision_ms)} ms, candidates {number(found.candidates)} a pair"
    )


def _table(steps: Sequence[Step]) -> str:
    heads = ("associations removed", "overlap", "candidates a pair", "function, ms", "decision, ms")
    return table(heads, [(f"{step.removed:.3f}", *map(number, step.answers[1:])) for step in steps])


def _by_class(given: Auctions, scale: Scale) -> Figures:
    """Which share of the pairs of each class of subscriptions overlaps, which explains the share of all."""
    index = filed(given.advertisements, given.event_type)
    figures: Figures = {}
    for place in range(len(CLASSES)):
        weights = tuple(float(place == each) for each in range(len(CLASSES)))
        drawn = generate("auction", subscriptions=scale.clocked, events=1, seed=SEED, classes=weights)
        asked = compiled(drawn.conditions.to_pylist(), given.event_type)
        pairs = sum(map(len, function_problems(index, given.name, asked)))
        figures[f"overlap share before, subscriptions of class {place + 1}"] = (
            f"{pairs / (len(asked) * len(index)):.3f}"
        )
    return figures


def both(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Subscriptions pruned by accuracy, then advertisements (B54, B55)."""
    scale = scale_of(size, sizes)
    given = auctions(*scale.both, scale.events)
    progress(f"both: {len(given.subscriptions)} subscriptions, {len(given.advertisements)} advertisements")
    pruned_to = levels(given, LEVELS)
    figures: Figures = {
        "sizes": f"{len(given.subscriptions)} subscriptions, {len(given.advertisements)} advertisements; "
        "thesis: 100000 and 50000"
    }
    alone = _subscriptions_alone(given, pruned_to, scale)
    for step in alone:
        figures[f"subscriptions alone, {step.removed:.2f} removed"] = _line(step.answers)
    courses = {}
    for level in pruned_to:
        if not level.removed or any(abs(level.removed - each) < _NEAR for each in FOLLOWED):
            progress(f"both: advertisements after {level.removed:.2f} of subscriptions")
            steps = max(2, scale.steps // 4) if level.removed else scale.steps
            courses[level.removed] = pruned(given, level.subscriptions, scale.effort, steps)
    figures |= _followed(courses) | _against(courses[0.0], alone)
    rows = [(f"{each.removed:.2f}", f"{each.answers.share:.3f}") for each in alone]
    return figures, {}, [table(("associations of subscriptions removed", "overlap"), rows)]


def _subscriptions_alone(given: Auctions, pruned_to: Sequence[Level], scale: Scale) -> list[Step]:
    """What the advertisements as they are answer to pruned subscriptions.

    Raises:
        SystemExit: An overlap is lost.
    """
    index = filed(given.advertisements, given.event_type)
    found: list[Step] = []
    for level in pruned_to:
        told = answers(index, given.name, level.subscriptions[: scale.asked], scale.effort)
        found.append(Step(level.removed, told))
        if not is_part(found[0].answers.found, told.found):
            msg = f"pruning subscriptions to {level.removed:.3f} of associations removed loses an overlap"
            raise SystemExit(msg)
    return found


def _followed(courses: dict[float, list[Step]]) -> Figures:
    """What pruning advertisements still gains."""
    figures: Figures = {}
    for removed, steps in courses.items():
        first, last = steps[0].answers, steps[-1].answers
        title = f"advertisements after {removed:.2f} of subscriptions"
        figures[f"{title}: removed in the end (thesis: .72, .74 and .53 at last)"] = f"{steps[-1].removed:.3f}"
        figures[f"{title}: before"] = _line(first)
        figures[f"{title}: in the end"] = _line(last)
        saved = 1 - last.decision_ms / first.decision_ms
        figures[f"{title}: saved of decision (thesis: .45 to .11)"] = number(saved)
    return figures


def _against(steps: Sequence[Step], alone: Sequence[Step]) -> Figures:
    """The two ways to prune beside each other."""
    share = [f"{at(each, 0.28, 'share'):.3f}" for each in (steps, alone)]
    removed = [f"{largest(shares(each), 0.65):.3f}" for each in (steps, alone)]
    return {
        "overlap at .28 removed (thesis: .48 against .75)": f"advertisements {share[0]}, subscriptions {share[1]}",
        "removed while overlap is at most .65 (thesis: .72 against .19)": (
            f"advertisements {removed[0]}, subscriptions {removed[1]}"
        ),
    }
