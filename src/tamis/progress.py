"""What the micro-batches of a query did: a report each, kept in a file, summed up when asked.

A report says what happened and never decides what happens: matching, pins and sinks read nothing from here. A
batch that is done again after a crash is reported again, and of several reports of a batch the last one counts.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from tamis.errors import TamisError
from tamis.operators.reporting import OperatorReport, summed

TOP = 20
"""How many subscriptions a summary names."""

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
        events: Events read, bad ones included.
        matched_events: Events that satisfied at least one subscription.
        notifications: Notifications given to the sink.
        repeated: Matches left out because the event had been notified before.
        overflow: Matches left out because a subscription was over its quota or cooling down.
        dead: Bad events, set aside with a reason.
        backlog: Events that wait, if the source knows.
        version: The version of the snapshot that the batch was matched with.
        store_version: The version of the store, if there is one.
        lag_seconds: Age of the oldest change of the store that `version` lacks, 0 if it lacks none, None without a
            store.
        busiest: The subscriptions with most matches in the batch, and how many each had.
        operators: What each operator did that was called.
        shards: Over how many parts subscriptions were dealt.
        visits: How often an event visited a shard; each event all of them, if nothing routed it.
        useful_visits: How often it found something there: the least number of visits with that deal.
        overflow_by_group: The part of `overflow` of each group of subscriptions that has a quota of its own.
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
    overflow_by_group: tuple[tuple[str, int], ...] = ()

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
        """A report from its JSON; what it does not know is ignored.

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
        # Reports were written before there were operators, before events were routed, before groups had quotas.
        older = {"operators": [], "shards": 1, "visits": 0, "useful_visits": 0, "overflow_by_group": []}
        values = {**older, **values}
        read = {field.name: _field(values, field.name, str(field.type)) for field in fields(cls)}
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

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file)
        self._whole = False

    def append(self, report: BatchReport) -> None:
        """Add a report, durably."""
        if not self._whole:
            self._prepare()
        self._whole = False  # until the line is: a full disk may take half of it
        with self.file.open("ab") as file:
            file.write(report.to_json().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._whole = True

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
        dead: Bad events.
        latency: Seconds per batch.
        top: The subscriptions with most matches, as far as reports name them: a subscription that is not among the
            busiest of a batch is not counted for that batch, so each number is the least that it can be.
        versions: The versions of the snapshot that batches were matched with, ascending.
        lag_seconds: The longest that a batch lagged behind the store, or None if no batch knew.
        operators: What each operator did.
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

    @property
    def events_per_second(self) -> float:
        """Events by the time in batches."""
        return self.events / self.seconds if self.seconds > 0 else 0.0

    @property
    def matched_share(self) -> float:
        """The share of events that satisfied at least one subscription."""
        return self.matched_events / self.events if self.events else 0.0

    @classmethod
    def of(cls, reports: Sequence[BatchReport]) -> Summary:
        """Sum reports up; each batch is expected once, as `History.read` gives them."""
        matches: Counter[str] = Counter()
        for report in reports:
            matches.update(dict(report.busiest))
        lags = [report.lag_seconds for report in reports if report.lag_seconds is not None]
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
            operators=summed(each for report in reports for each in report.operators),
        )


def busiest(matches: dict[str, int], count: int) -> tuple[tuple[str, int], ...]:
    """The subscriptions with most matches, most first; equals by their id, so that a replay names the same."""
    return tuple(sorted(matches.items(), key=lambda one: (-one[1], one[0]))[:count])


class View(Protocol):
    """Shows reports to somebody while a query runs."""

    def show(self, report: BatchReport) -> None:
        """A batch is done."""

    def close(self) -> None:
        """There will be no more."""


def duration_text(seconds: float) -> str:
    """`0.4 ms`, `38 ms`, `1.25 s`, `4 min 10 s`, `3 h 5 min`: for people."""
    if seconds < 0.01:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.3g} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {left} s"
    return f"{minutes // 60} h {minutes % 60} min"


def share_text(share: float) -> str:
    """`4.1%`, `100%`, `0.02%`: for people."""
    return f"{share:.0%}" if share >= 0.9995 or not share else f"{share * 100:.2g}%"


def rate_text(events_per_second: float) -> str:
    """`12,400`, `3.2`: events a second, for people."""
    return f"{events_per_second:,.0f}" if events_per_second >= 10 else f"{events_per_second:.2g}"
