"""Reports of the stream, as the service follows them, and the file that is kept short."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tamis.progress import BatchReport, History
from tamis.service.reports import Reports


def report(batch: int, **fields: object) -> BatchReport:
    given: dict[str, object] = {
        **{"query": "q", "batch": batch, "at": datetime(2026, 1, 1, tzinfo=UTC), "seconds": 0.1},
        **{"match_seconds": 0.1, "commit_seconds": 0.0, "events": 5, "matched_events": 0, "notifications": 0},
        **{"repeated": 0, "overflow": 0, "dead": 0, "backlog": 0, "version": 1, "store_version": 1},
        **{"lag_seconds": 0.0, **fields},
    }
    return BatchReport(**given)  # type: ignore[arg-type]


def follow(reports: Reports, *steps: tuple[Callable[[], object], int]) -> None:
    """Follow while each step is done, until there are so many reports."""

    async def run() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(reports.run(stop))
        for act, count in steps:
            act()
            async with asyncio.timeout(60):
                while len(reports.last) < count:
                    await asyncio.sleep(0.01)
        stop.set()
        await task

    asyncio.run(run())


def test_reports_that_were_there_are_shown_and_not_counted(tmp_path: Path) -> None:
    history = History(tmp_path / "progress.jsonl")
    history.append(report(0))
    reports = Reports(history.file)
    assert [each.batch for each in reports.last] == [0]
    follow(reports, (lambda: history.append(report(1)), 2))
    assert [each.batch for each in reports.last] == [0, 1]
    assert reports.metrics.registry.get_sample_value("tamis_events_total", {"query": "q"}) == 5


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "stream" / "progress.jsonl"
    reports = Reports(file)
    follow(reports, (lambda: History(file).append(report(0)), 1))
    assert [each.batch for each in reports.last] == [0]


@pytest.mark.slow
def test_half_a_line_of_a_killed_writer_costs_no_report(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    History(file).append(report(0))
    with file.open("ab") as half:
        half.write(report(1).to_json().encode()[:50])
    reports = Reports(file)
    assert [each.batch for each in reports.last] == [0]
    follow(reports, (lambda: History(file).append(report(1)), 2), (lambda: History(file).append(report(2)), 3))
    assert [each.batch for each in reports.last] == [0, 1, 2]


def test_what_a_quota_left_out_is_summed_by_tenant(tmp_path: Path) -> None:
    history = History(tmp_path / "progress.jsonl")
    history.append(report(0, overflow=5, overflow_by_group=(("t", 3), ("u", 2))))
    history.append(report(1, overflow=1, overflow_by_group=(("t", 1),)))
    reports = Reports(history.file)
    assert [reports.overflow(tenant) for tenant in ("t", "u", "v")] == [4, 2, 0]


def test_a_line_that_is_no_report_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    file.write_bytes(b"nonsense\n")
    History(file).append(report(0))
    assert [each.batch for each in Reports(file).last] == [0]


def test_a_file_that_its_writer_shortens_is_followed(tmp_path: Path) -> None:
    line = len(report(10).to_json()) + 1
    history = History(tmp_path / "progress.jsonl", most_bytes=16 * line)
    for batch in range(10, 26):
        history.append(report(batch))
    assert len(history.read()) == 16
    reports = Reports(history.file)
    history.append(report(26))
    kept = [each.batch for each in history.read()]
    assert kept == [24, 25, 26], "whole lines only"
    follow(reports, (lambda: history.append(report(27)), 18))
    assert [each.batch for each in reports.last] == [*range(10, 28)]
