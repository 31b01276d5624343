"""Reports on operators: what they did since some moment, summed over processes, and kept in a file.

They are for people and for estimates of cost; no pair depends on them.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from tamis.errors import naming_write_errors
from tamis.formulas.codec import CodecError
from tamis.operators.meters import COUNTS, Recent, meters
from tamis.statistics import Statistics

_log = logging.getLogger(__name__)
_KEPT = 5
"""Failures kept in the report of an operator."""


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that failed: when (seconds since 1970), on what, and how."""

    at: float
    arguments: str
    error: str


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """What one operator did, in all processes that are reported together.

    Attributes:
        operator: Its name.
        calls: Events that it was run for.
        runs: How often its function was run.
        seconds: Time that this took.
        cached: Calls whose results came from the cache.
        saved: Calls in conditions that sharing or an early verdict made needless.
        failures: Events for which it failed.
        timeouts: Runs that took too long.
        skipped: Calls that were not made because the circuit was open.
        is_open: Is its circuit open in at least one of the processes?
        lately: The last failures.
    """

    operator: str
    calls: int = 0
    runs: int = 0
    seconds: float = 0.0
    cached: int = 0
    saved: int = 0
    failures: int = 0
    timeouts: int = 0
    skipped: int = 0
    is_open: bool = False
    lately: tuple[FailedCall, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> OperatorReport:
        """The report that `to_dict` wrote; unknown keys are ignored.

        Raises:
            ValueError: The content is something else.
        """
        try:
            lately = tuple(
                FailedCall(float(each["at"]), str(each["arguments"]), str(each["error"]))
                for each in content["lately"]
            )
            counts: dict[str, Any] = {name: int(content[name]) for name in COUNTS if name != "seconds"}
            counts["seconds"] = float(content["seconds"])
            return cls(str(content["operator"]), is_open=bool(content["is_open"]), lately=lately, **counts)
        except (AttributeError, KeyError, TypeError) as error:
            msg = f"expected {', '.join(each.name for each in fields(cls))} of an operator, found {content!r}"
            raise ValueError(msg) from error


class OperatorTally:
    """What operators do in this process after it was created."""

    def __init__(self) -> None:
        self._began = time.time()
        self._before = {name: meter.counts() for name, meter in meters().items()}

    def reports(self) -> list[OperatorReport]:
        """A report for each operator that did something, or whose circuit is open."""
        found = []
        for name, meter in sorted(meters().items()):
            before = self._before.get(name, {})
            counts = {key: value - before.get(key, 0) for key, value in meter.counts().items()}
            is_open = meter.is_open()
            lately = tuple(
                FailedCall(each.at, each.arguments, each.error)
                for each in [*meter.lately]
                if each.at >= self._began
            )
            if any(counts.values()) or is_open:
                found.append(OperatorReport(name, is_open=is_open, lately=lately, **counts))
        return found


def sum_reports(reports: Iterable[OperatorReport]) -> tuple[OperatorReport, ...]:
    """One report for each operator, by name, with the last of all failures.

    >>> [each.calls for each in sum_reports([OperatorReport("people", 2), OperatorReport("people", 3)])]
    [5]
    """
    found: dict[str, OperatorReport] = {}
    for each in reports:
        known = found.get(each.operator)
        found[each.operator] = each if known is None else _sum_two(known, each)
    return tuple(found[name] for name in sorted(found))


def _sum_two(one: OperatorReport, other: OperatorReport) -> OperatorReport:
    counts: dict[str, Any] = {name: getattr(one, name) + getattr(other, name) for name in COUNTS}
    lately = tuple(sorted({*one.lately, *other.lately}, key=lambda each: each.at)[-_KEPT:])
    return replace(one, is_open=one.is_open or other.is_open, lately=lately, **counts)


class OperatorLedger:
    """Totals of all runs of a query, and the recent costs and results of calls, in a file of the driver.

    Attributes:
        file: Replaced atomically after each batch that called an operator.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        """Load the file. An unreadable one is logged and started over: only estimates are lost."""
        self.file = Path(file)
        self._totals: tuple[OperatorReport, ...] = ()
        self._recent: dict[str, Recent] = {}
        self._learned: dict[str, Statistics] = {}
        try:
            self._load(json.loads(self.file.read_bytes()))
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError, CodecError) as error:
            _log.warning("%s: cannot be read and is started over: %s", self.file, error)

    def add(self, reports: Iterable[OperatorReport], learned: Mapping[str, Statistics] | None = None) -> None:
        """Add what a batch did, and what was learned of the results of calls, by event type."""
        new = tuple(reports)
        if not new:
            return
        for name, statistics in (learned or {}).items():
            self._learned.setdefault(name, Statistics()).adopt(statistics, replace=True)
        is_open = {each.operator: each.is_open for each in new}
        self._totals = tuple(
            replace(each, is_open=is_open.get(each.operator, False)) for each in sum_reports((*self._totals, *new))
        )
        for each in new:
            before = self._recent.get(each.operator, Recent())
            self._recent[each.operator] = before.after(each.calls, each.seconds)
        self._save()

    def reports(self) -> tuple[OperatorReport, ...]:
        """The totals of each operator."""
        return self._totals

    def costs(self) -> dict[str, float]:
        """Mean seconds for one event of each operator that was called, recent calls counting most."""
        return {name: recent.cost for name, recent in self._recent.items() if recent.cost is not None}

    def learned_statistics(self) -> dict[str, str]:
        """Statistics of the results of calls, by event type, as JSON."""
        return {name: json.dumps(statistics.to_json()) for name, statistics in self._learned.items()}

    def _load(self, content: Any) -> None:
        learned = content.get("learned", {})
        self._learned = {str(name): Statistics.from_json(each) for name, each in learned.items()}
        totals = tuple(OperatorReport.from_dict(each) for each in content["operators"])
        recent = {str(name): Recent(*map(float, known)) for name, known in content["recent"].items()}
        self._totals, self._recent = totals, recent

    def _save(self) -> None:
        content = {
            "operators": [each.to_dict() for each in self._totals],
            "recent": self._recent,
            "learned": {name: statistics.to_json() for name, statistics in self._learned.items()},
        }
        with naming_write_errors(self.file):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            aside = self.file.with_suffix(".new")
            aside.write_text(json.dumps(content), "utf-8")
            aside.replace(self.file)
