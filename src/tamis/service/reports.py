"""What the stream did, as the service sees it: it follows the file of reports that the stream writes."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from pathlib import Path

from tamis.metrics import Metrics
from tamis.progress import BatchReport, ProgressError

_log = logging.getLogger(__name__)

_KEPT = 2_000
"""Reports that are kept for charts."""
_FIRST_BYTES = 4 << 20
"""How much of an old file is read at the start."""
_LOOK_SECONDS = 0.5


class Reports:
    """The last reports, and metrics of all that were seen.

    Attributes:
        metrics: Of the batches since the service was started.
        last: The newest reports, the oldest first.
        filtered: Events that were matched since the service was started, and the seconds of the processor that
            filtering them took.
    """

    def __init__(self, file: Path) -> None:
        self.metrics = Metrics()
        self.last: deque[BatchReport] = deque(maxlen=_KEPT)
        self.filtered = 0, 0.0
        self._file = file
        self._at = 0
        self._skip_to_line = False
        size = file.stat().st_size if file.exists() else 0
        if size > _FIRST_BYTES:
            self._at, self._skip_to_line = size - _FIRST_BYTES, True
        for report in self._read():
            self.last.append(report)

    async def run(self, stop: asyncio.Event) -> None:
        """Follow the file until `stop` is set."""
        while not stop.is_set():
            for report in self._read():
                self.last.append(report)
                self.metrics.observe(report)
                events, seconds = self.filtered
                self.filtered = events + report.events, seconds + report.filter_seconds
            try:
                await asyncio.wait_for(stop.wait(), _LOOK_SECONDS)
            except TimeoutError:
                continue

    def overflow(self, tenant: str) -> int:
        """How many matches of a tenant were left out by its quota, in the last reports."""
        return sum(dict(report.overflow_by_group).get(tenant, 0) for report in self.last)

    def _read(self) -> list[BatchReport]:
        """The reports that have come since, as far as their lines are whole."""
        try:
            with self._file.open("rb") as file:
                is_cut = file.seek(0, os.SEEK_END) < self._at
                self._at = 0 if is_cut else self._at
                file.seek(self._at)
                new = file.read()
        except FileNotFoundError:
            return []
        *lines, rest = new.split(b"\n")
        self._at += len(new) - len(rest)  # the rest is read again: a killed writer's half line will be cut off
        if self._skip_to_line and lines:
            del lines[0]
            self._skip_to_line = False
        found = []
        for line in lines:
            try:
                found.append(BatchReport.from_json(line))
            except ProgressError as error:
                _log.warning("%s: a line is no report: %s", self._file, error)
        return _after(found, self.last[-1]) if is_cut and self.last else found


def _after(reports: list[BatchReport], known: BatchReport) -> list[BatchReport]:
    """The reports after one that is known; all if it is not among them."""
    places = [place for place, each in enumerate(reports) if each == known]
    return reports[places[-1] + 1 :] if places else reports
