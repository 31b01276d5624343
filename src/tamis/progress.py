"""Reports of micro-batches: one for each batch, kept in a file, summed up on demand.

A report records what happened and decides nothing: matching, pins and sinks read nothing from here. A batch that
is repeated after a crash is reported again, and of several reports of a batch the last one counts.
"""

from __future__ import annotations

import heapq
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Literal, Protocol, TypeAlias

from tamis.errors import TamisError, naming_write_errors
from tamis.operators.reports import OperatorReport, sum_reports

TOP = 20
"""How many subscriptions a summary names."""

HISTORY_BYTES = 64 << 20
"""How long a file of reports may grow, by default."""
_TAIL_BYTES = 65_536


class ProgressError(TamisError):
    """A file of reports cannot be read: the message names the file, the line and what is wrong there."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What one micro-batch did.

    Attributes:
        query: The streaming query.
        batch: Its number within the query.
        at: The recorded time of the batch, which a replay keeps.
        seconds: How long the batch took, all in all.
        match_seconds: Of these, for matching.
        commit_seconds: Of these, for the sink's commit.
        events: Events read, dead letters included.
        matched_events: Events that satisfied at least one subscription.
        notifications: Notifications given to the sink.
        repeated: Matches left out because the event had been notified before.
        overflow: Matches left out because a subscription was over its quota or cooling down.
        dead: Dead letters.
        backlog: Events that wait, if the source knows.
        version: The version of the snapshot that the batch was matched with.
        store_version: The version of the store, if there is one.
        lag_seconds: Age of the oldest change of the store that `version` lacks, 0 if it lacks none, None without a
            store.
        busiest: The subscriptions with most matches in the batch, and how many each had.
        operators: What each operator did that was called.
        shards: The number of parts into which subscriptions were split.
        visits: How often an event visited a shard; each event all of them, if nothing routed it.
        useful_visits: How often it matched something there: the least number of visits with that assignment.
        set_aside: Subscriptions that are not matched: to another event type than that of the events, or refused.
        overflow_by_group: The part of `overflow` of each group of subscriptions that has a quota of its own.
        dead_by_kind: The part of `dead` of each kind, the most first.
        misfits: Events with a value that does not fit their type, matched with NULL in its place.
        late: Events that came too late for composite subscriptions, or without a time.
        composite: What composite subscriptions keep, and what was dropped, by name.
        entry_bytes: Of the routing entries, if events are routed.
        entry_budget: What these should take at most.
        filter_seconds: Of the processor, in all tasks, to find the shards of events, and the pairs of events and
            conditions.
        sampled: Pairs of an event and a condition in CESQL or CEL, evaluated in full to count errors: a sample.
        sampled_errors: Of these, those with an error.
        engines: How many events each engine matched in the workers; an event counts once for each shard it visits.
    """

    query: str
    batch: int
    at: datetime
    seconds: float
    match_seconds: float
    commit_seconds: float
    events: int
    matched_events: int
    notifications: int
    repeated: int
    overflow: int
    dead: int
    backlog: int | None
    version: int
    store_version: int | None
    lag_seconds: float | None
    busiest: tuple[tuple[str, int], ...] = ()
    operators: tuple[OperatorReport, ...] = ()
    shards: int = 1
    visits: int = 0
    useful_visits: int = 0
    set_aside: int = 0
    overflow_by_group: tuple[tuple[str, int], ...] = ()
    dead_by_kind: tuple[tuple[str, int], ...] = ()
    misfits: int = 0
    late: int = 0
    composite: tuple[tuple[str, int], ...] = ()
    entry_bytes: int = 0
    entry_budget: int = 0
    filter_seconds: float = 0.0
    sampled: int = 0
    sampled_errors: int = 0
    engines: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        """A time without a zone would mean another moment on another machine."""
        if self.at.tzinfo is None:
            msg = f"batch {self.batch} of {self.query!r}: its time {self.at} has no time zone, expected UTC"
            raise ValueError(msg)

    @property
    def events_per_second(self) -> float:
        """Events of the batch by its time; 0 for a batch that took none."""
        return self.events / self.seconds if self.seconds > 0 else 0.0

    @property
    def saved_visits(self) -> float:
        """The share of visits that routing saved, against every event in every shard."""
        return 1.0 - self.visits / (self.events * self.shards) if self.events and self.visits else 0.0

    def to_json(self) -> str:
        """The report as one line of JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {
            "at": self.at.astimezone(UTC).isoformat(),
            "operators": [each.to_dict() for each in self.operators],
        }
        return json.dumps(values, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> BatchReport:
        """A report from its JSON; unknown fields are ignored.

        Raises:
            ProgressError: If it is no JSON object, or a field is missing or of another type.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            msg = f"not JSON: {error}"
            raise ProgressError(msg) from error
        if not isinstance(values, dict):
            msg = f"expected a JSON object, found {type(values).__name__}"
            raise ProgressError(msg)
        read = {
            field.name: _field(values, field.name, str(field.type))
            for field in fields(cls)
            if field.name in values or field.default is MISSING  # older reports lack fields that came later
        }
        try:
            return cls(**read)
        except ValueError as error:
            raise ProgressError(str(error)) from error


def _field(values: dict[str, Any], name: str, type_: str) -> Any:
    """The value of a field, checked against the type that it is declared with."""
    if name not in values:
        msg = f"field {name!r} is missing"
        raise ProgressError(msg)
    value = values[name]
    if value is None and type_.endswith(" | None"):
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_.removesuffix(" | None"):
        case "str" if isinstance(value, str):
            return value
        case "int" if number and isinstance(value, int):
            return value
        case "float" if number:
            return float(value)
        case "datetime" if isinstance(value, str):
            try:
                return datetime.fromisoformat(value)
            except ValueError as error:
                msg = f"field {name!r}: {error}"
                raise ProgressError(msg) from error
        case "tuple[tuple[str, int], ...]" if isinstance(value, list):
            if all(isinstance(one, list) and [type(part) for part in one] == [str, int] for one in value):
                return tuple((one[0], one[1]) for one in value)
        case "tuple[OperatorReport, ...]" if isinstance(value, list):
            try:
                return tuple(OperatorReport.from_dict(one) for one in value)
            except ValueError as error:
                msg = f"field {name!r}: {error}"
                raise ProgressError(msg) from error
    msg = f"field {name!r}: expected {type_}, found {value!r}"
    raise ProgressError(msg)


class History:
    """The reports of a pipeline, in a file of JSON lines that one process writes and any may read.

    A line is on the disk when `append` returns. A line without its end is what a killed writer left: a reader
    leaves it out, and the next writer removes it.
    """

    def __init__(self, file: str | os.PathLike[str], most_bytes: int = HISTORY_BYTES) -> None:
        """Nothing is touched yet.

        Args:
            file: Of reports.
            most_bytes: When it is longer, only the newest reports stay, in a quarter of that.
        """
        self.file = Path(file)
        self._most_bytes = most_bytes
        self._whole = False

    def append(self, report: BatchReport) -> None:
        """Add a report, durably.

        Raises:
            WriteError: The file cannot be written.
        """
        with naming_write_errors(self.file):
            if not self._whole:
                self._prepare()
            self._whole = False  # until the line is: a full disk may take half of it
            with self.file.open("ab") as file:
                file.write(report.to_json().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            self._whole = True
            if size > self._most_bytes:
                self._shorten(size)

    def read(self) -> list[BatchReport]:
        """All reports, one a batch, in the order in which they were written.

        Raises:
            ProgressError: If a line is no report.
        """
        try:
            content = self.file.read_bytes()
        except FileNotFoundError:
            return []
        reports: dict[tuple[str, int], BatchReport] = {}
        for number, line in enumerate(content.split(b"\n")[:-1], 1):
            try:
                report = BatchReport.from_json(line)
            except ProgressError as error:
                msg = f"{self.file}, line {number}: {error}"
                raise ProgressError(msg) from error
            reports.pop((report.query, report.batch), None)  # the last one of a batch, in its own place
            reports[report.query, report.batch] = report
        return list(reports.values())

    def _shorten(self, size: int) -> None:
        with self.file.open("rb") as file:
            file.seek(size - self._most_bytes // 4)
            last = file.read().partition(b"\n")[2]
        aside = self.file.with_suffix(".new")
        with aside.open("wb") as file:  # durable before it takes the place of what was
            file.write(last)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self.file)

    def _prepare(self) -> None:
        """Make the file, or cut off what a killed writer left after the last whole line."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a+b") as file:
            end = file.seek(0, os.SEEK_END)
            whole = _end_of_last_line(file, end)
            if whole < end:
                file.truncate(whole)
        folder = os.open(self.file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _end_of_last_line(file: Any, end: int) -> int:
    while end:
        start = max(0, end - _TAIL_BYTES)
        file.seek(start)
        found: int = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Seconds that a batch took: the least time within which half of them were done, 90 in 100, 99, and all."""

    p50: float
    p90: float
    p99: float
    most: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Percentiles:
        """By nearest rank: each is the time of some batch; all 0 if there is none."""
        ordered = sorted(seconds)
        if not ordered:
            return cls(0.0, 0.0, 0.0, 0.0)
        p50, p90, p99 = (ordered[math.ceil(len(ordered) * percent / 100) - 1] for percent in (50, 90, 99))
        return cls(p50, p90, p99, ordered[-1])


@dataclass(frozen=True, slots=True)
class Summary:
    """What several batches did together.

    Attributes:
        batches: How many.
        events: Events read.
        seconds: Time in batches; waiting for events is not counted.
        matched_events: Events that satisfied at least one subscription.
        notifications: Notifications given to the sink.
        repeated: Matches left out because the event had been notified before.
        overflow: Matches left out by quotas and cool-downs.
        dead: Dead letters.
        dead_by_kind: Of these, the number of each kind, the most first; older reports do not have it.
        latency: Seconds per batch.
        top: The subscriptions with most matches, as far as reports name them: a subscription that is not among the
            busiest of a batch is not counted for that batch, so each number is the least that it can be.
        versions: The versions of the snapshot that batches were matched with, ascending.
        lag_seconds: The longest that a batch lagged behind the store, or None if no batch knew.
        operators: What each operator did.
        set_aside: Subscriptions that the last batch did not match.
        misfits: Events with a value that does not fit their type, matched with NULL in its place.
        sampled: Pairs of an event and a condition in CESQL or CEL, evaluated in full to count errors: a sample.
        sampled_errors: Of these, those with an error.
        median_events_per_second: The median of the rates of batches that had events: unlike the rate of all
            together, one slow batch does not change it.
    """

    batches: int
    events: int
    seconds: float
    matched_events: int
    notifications: int
    repeated: int
    overflow: int
    dead: int
    latency: Percentiles
    top: tuple[tuple[str, int], ...]
    versions: tuple[int, ...]
    lag_seconds: float | None
    operators: tuple[OperatorReport, ...] = ()
    dead_by_kind: tuple[tuple[str, int], ...] = ()
    set_aside: int = 0
    median_events_per_second: float = 0.0
    misfits: int = 0
    sampled: int = 0
    sampled_errors: int = 0

    @property
    def events_per_second(self) -> float:
        """Events by the time in batches."""
        return self.events / self.seconds if self.seconds > 0 else 0.0

    @property
    def notifications_per_match(self) -> float:
        """Notifications by events that satisfied at least one subscription."""
        return self.notifications / self.matched_events if self.matched_events else 0.0

    @property
    def matched_share(self) -> float:
        """The share of events that satisfied at least one subscription."""
        return self.matched_events / self.events if self.events else 0.0

    @classmethod
    def of(cls, reports: Sequence[BatchReport]) -> Summary:
        """Sum reports up; each batch is expected once, as `History.read` gives them."""
        matches: Counter[str] = Counter()
        dead: Counter[str] = Counter()
        for report in reports:
            matches.update(dict(report.busiest))
            dead.update(dict(report.dead_by_kind))
        lags = [report.lag_seconds for report in reports if report.lag_seconds is not None]
        rates = [report.events_per_second for report in reports if report.events]
        return cls(
            batches=len(reports),
            events=sum(report.events for report in reports),
            seconds=sum(report.seconds for report in reports),
            matched_events=sum(report.matched_events for report in reports),
            notifications=sum(report.notifications for report in reports),
            repeated=sum(report.repeated for report in reports),
            overflow=sum(report.overflow for report in reports),
            dead=sum(report.dead for report in reports),
            latency=Percentiles.of(report.seconds for report in reports),
            top=busiest(matches, TOP),
            versions=tuple(sorted({report.version for report in reports})),
            lag_seconds=max(lags, default=None),
            operators=sum_reports(each for report in reports for each in report.operators),
            dead_by_kind=busiest(dead, len(dead)),
            set_aside=reports[-1].set_aside if reports else 0,
            median_events_per_second=median(rates) if rates else 0.0,
            misfits=sum(report.misfits for report in reports),
            sampled=sum(report.sampled for report in reports),
            sampled_errors=sum(report.sampled_errors for report in reports),
        )


def busiest(matches: dict[str, int], count: int) -> tuple[tuple[str, int], ...]:
    """The names with the greatest counts, most first; equals by name, so that a replay names the same."""
    return tuple(heapq.nsmallest(count, matches.items(), key=lambda one: (-one[1], one[0])))


Stage: TypeAlias = Literal["start", "subscriptions", "matching", "delivery", "report", "spark"]
_STAGES: dict[Stage, str] = {
    "start": "before its first batch",
    "subscriptions": "while its version of the subscriptions was pinned",
    "matching": "while events were read and matched",
    "delivery": "while results were handed to the sink",
    "report": "after its results were delivered, while its report was written",
    "spark": "within Spark, outside of a batch",
}


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Where and why a run failed.

    Attributes:
        stage: What was going on: "start", the start of the query; "subscriptions", "matching", "delivery",
            "report", the steps of a batch; "spark", whatever Spark does between them.
        reason: Why, for people.
        batch: The number of the batch, if it was in one.
    """

    stage: Stage
    reason: str
    batch: int | None = None

    @property
    def place(self) -> str:
        """Where it was, for people."""
        within = "" if self.batch is None else f"in batch {self.batch}, "
        return within + _STAGES[self.stage]


class ReportView(Protocol):
    """Shows reports while a query runs."""

    def show(self, report: BatchReport) -> None:
        """A batch is done."""

    def close(self) -> None:
        """There will be no more."""
