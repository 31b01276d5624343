"""The result of the demo: for people on the terminal and as a page, for programs as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.numerals import duration_text, number_text, share_text
from tamis.progress import TOP, BatchReport, Summary, busiest

if TYPE_CHECKING:
    from tamis.cli.demo_plain_spark import PlainSpark
    from tamis.explain import Explanation
    from tamis.lab.workloads import Workload

_TOP = 8
"""How many of the busiest subscriptions a terminal shows; the page has more."""


@dataclass(frozen=True)
class DemoRun:
    """What the demo did.

    Attributes:
        workload: Events and subscriptions, those that were added later included.
        warm_up: Reports of the batches before the clock.
        measured: Reports of the batches that count.
        existing: The number of subscriptions that each batch saw.
        added: How many subscriptions were added while the stream ran.
        removed: How many were removed.
        notifications: All of them, the warm-up's included.
        plain: What Spark alone did with a part.
    """

    workload: Workload
    warm_up: Sequence[BatchReport]
    measured: Sequence[BatchReport]
    existing: Sequence[int]
    added: int
    removed: int
    notifications: pa.Table
    plain: PlainSpark

    @property
    def ever(self) -> int:
        """The number of subscriptions that ever existed."""
        return self.existing[0] + self.added

    @property
    def engine(self) -> str:
        """The engines that the workers matched with, that of most events first, as the stream reported them."""
        counted: Counter[str] = Counter()
        for report in self.measured:
            counted.update(dict(report.engines))
        return ", ".join(name for name, _ in counted.most_common())

    @cached_property
    def matches(self) -> dict[str, int]:
        """The number of notifications of each subscription that has any."""
        counted = self.notifications.group_by("subscription_id").aggregate([([], "count_all")])
        return dict(zip(counted["subscription_id"].to_pylist(), counted["count_all"].to_pylist(), strict=True))

    @property
    def matched_share(self) -> float:
        """The share of the subscriptions that ever existed which matched an event."""
        return len(self.matches) / self.ever

    @cached_property
    def summary(self) -> Summary:
        """The measured batches, with the busiest subscriptions of the whole stream."""
        return replace(Summary.of(self.measured), top=busiest(self.matches, _TOP))

    @property
    def end_to_end_seconds(self) -> float:
        """From the first measured batch to the end of the last, with what Spark does between batches."""
        last = self.measured[-1]
        return (last.at - self.measured[0].at).total_seconds() + last.seconds

    @property
    def products(self) -> int:
        """Events times the subscriptions that they met, over the measured batches."""
        return sum(report.events * self.existing[report.batch] for report in self.measured)

    @property
    def plain_seconds(self) -> float:
        """What Spark alone would take for the measured batches."""
        return self.plain.extrapolate(self.products)

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions of the busiest subscriptions, by id, of all that the page shows."""
        ids = [name for name, _ in busiest(self.matches, TOP)]
        places = pc.index_in(pa.array(ids, pa.string()), value_set=self.workload.ids)
        return dict(zip(ids, self.workload.conditions.take(places).to_pylist(), strict=True))


@dataclass(frozen=True, slots=True)
class Sample:
    """An event and why it matched; none if none did."""

    event: Mapping[str, Any] | None = None
    explained: Explanation | None = None


def summarise(run: DemoRun, seconds: Mapping[str, float], folder: Path, *, as_json: bool) -> None:
    """Write the page, and print the result."""
    from tamis.cli.output import JsonLines, Screen

    sample = _sample(run, folder / "checkpoint" / "tamis" / "snapshot")
    file, output = folder / "report.html", str(folder / "notifications")
    file.write_text(report_page(run, sample, seconds, output), encoding="utf-8")
    if as_json:
        JsonLines().write({**result(run, sample, seconds), "report": str(file)})
    else:
        _print(run, sample, seconds, output)
        Screen().say(f"\nReport with charts: {file}")


def _sample(run: DemoRun, snapshot: Path) -> Sample:
    """One match, explained by the version of the subscriptions that was used; always the same one."""
    from tamis.lab.workloads.files import event_lines
    from tamis.matcher import Matcher

    found, event_type = run.notifications, run.workload.event_type.name
    if not found.num_rows:
        return Sample()
    one = found.filter(pc.equal(found["id"], pc.min(found["id"]))).slice(0, 1).to_pylist()[0]
    events = run.workload.events
    event = json.loads(next(event_lines(events.filter(pc.equal(events["id"], one["event_id"])))))
    matcher = Matcher.open(snapshot, one["version"], event_type=event_type)
    return Sample(event, matcher.explain(one["subscription_id"], event))


def result(run: DemoRun, sample: Sample, seconds: Mapping[str, float]) -> dict[str, Any]:
    """The result for programs: `events`, `notifications` and `distinct` are of the whole stream."""
    summary, plain = run.summary, run.plain
    return {
        "events": sum(report.events for report in (*run.warm_up, *run.measured)),
        "notifications": run.notifications.num_rows,
        "distinct": pc.count_distinct(run.notifications["id"]).as_py(),
        "engine": run.engine,
        "warm_up": _batches_of(Summary.of(run.warm_up)),
        "measured": {
            **_batches_of(summary),
            "events_per_second": summary.median_events_per_second,
            "end_to_end_seconds": run.end_to_end_seconds,
        },
        "subscriptions": {
            "at_first": run.existing[0],
            "added": run.added,
            "removed": run.removed,
            "ever": run.ever,
            "matched": len(run.matches),
        },
        "busiest": [
            {"id": name, "matches": count, "condition": run.conditions[name]} for name, count in summary.top
        ],
        "plain_spark": {
            "subscriptions": plain.subscriptions,
            "events": plain.events,
            "pairs": plain.pairs,
            "seconds": plain.seconds,
            "extrapolated_seconds": run.plain_seconds,
        },
        "seconds": dict(seconds),
        "event": sample.event,
        "explained": sample.explained.to_dict() if sample.explained else None,
    }


def _batches_of(summary: Summary) -> dict[str, Any]:
    return {"batches": summary.batches, "events": summary.events, "seconds": summary.seconds}


def report_page(run: DemoRun, sample: Sample, seconds: Mapping[str, float], output: str) -> str:
    """The result as an HTML page."""
    from tamis.report import Figure, page

    plain_spark = Figure("plain Spark", duration_text(run.plain_seconds), f"extrapolated; {_times(run)}")
    return page(
        run.measured,
        title="tamis demo: auctions",
        output=output,
        explained=sample.explained,
        event=sample.event,
        matches=run.matches,
        subscriptions=run.ever,
        conditions=run.conditions,
        facts={"engine": run.engine, "seed": str(run.workload.seed)},
        warm_up=run.warm_up,
        figures=[plain_spark],
        tables={
            "What happened": facts(run),
            "Where the time went": _times_of_stages(seconds),
        },
    )


def facts(run: DemoRun) -> dict[str, str]:
    """What the summary of the batches does not say, for people."""
    from tamis.cli.output import count_text

    plain, summary = run.plain, run.summary
    warm_up = Summary.of(run.warm_up)
    rate = number_text(summary.events / run.end_to_end_seconds)
    return {
        "warm-up": f"{warm_up.batches} batches, {warm_up.events:,} events in {duration_text(warm_up.seconds)}, "
        "before the clock",
        "end to end": f"{rate} events/s, with what Spark does between batches",
        "changes": f"{run.existing[0]:,} subscriptions at first, {run.added:,} added and {run.removed:,} removed; "
        f"{len(summary.versions)} of {summary.batches} batches saw a new version",
        "share": f"{share_text(run.matched_share)} of the {run.ever:,} subscriptions that ever existed matched",
        "tamis": f"{duration_text(summary.seconds)} for {_product(summary.events, _mean(run))}, JSON to Delta",
        "plain Spark": f"would take {duration_text(run.plain_seconds)}, {_times(run)}: extrapolated by events × "
        f"subscriptions from {_product(plain.events, plain.subscriptions)} in {duration_text(plain.seconds)}, "
        f"from memory, nothing recorded; {count_text(plain.pairs, 'pair')}, the same as tamis found",
    }


def _times_of_stages(seconds: Mapping[str, float]) -> dict[str, str]:
    everything = {**seconds, "total": sum(seconds.values())}
    return {name: duration_text(each) for name, each in everything.items()}


def _mean(run: DemoRun) -> int:
    return round(run.products / run.summary.events)


def _product(events: int, subscriptions: int) -> str:
    return f"{events:,} events × {subscriptions:,} subscriptions"


def _times(run: DemoRun) -> str:
    return f"{number_text(run.plain_seconds / run.summary.seconds)} times as long as tamis"


def _print(run: DemoRun, sample: Sample, seconds: Mapping[str, float], output: str) -> None:
    from tamis.cli.output import Screen
    from tamis.cli.progress import summary_text
    from tamis.cli.trees import explanation_tree

    screen = Screen()
    rows = {"engine": run.engine, **facts(run)}
    rows["time"] = ", ".join(f"{name} {text}" for name, text in _times_of_stages(seconds).items())
    screen.print(summary_text(run.summary, output, conditions=run.conditions, more=rows))
    if sample.explained is not None:
        screen.say("\nOne match, explained:", style="bold")
        screen.say(json.dumps(sample.event, ensure_ascii=False))
        screen.say(sample.explained.reason)
        screen.print(explanation_tree(sample.explained))
