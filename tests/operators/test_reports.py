"""What operators did, told on: since a moment, summed up, and kept over restarts."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from tamis import Matcher
from tamis.operators.meters import meter
from tamis.operators.reports import FailedCall, OperatorLedger, OperatorReport, OperatorTally, sum_reports
from tests.operators.recording import Recorded

EVENTS = [{"n": number} for number in range(14)]


def test_a_tally_has_what_was_done_since_it_was_made(recorded: Recorded) -> None:
    matcher = Matcher({"attributes": {"n": "bigint"}})
    matcher.add("one", "fragile(n) = 0")
    matcher.match_batch(EVENTS)
    tally = OperatorTally()
    assert tally.reports() == []
    matcher.match_batch(EVENTS)
    (found,) = tally.reports()
    assert (found.operator, found.calls, found.failures) == ("fragile", 14, 2)
    assert found.seconds > 0
    assert [(each.arguments, each.error) for each in found.lately] == [
        ("3", "ArithmeticError: a three among sevens"),
        ("10", "ArithmeticError: a three among sevens"),
    ]
    assert meter("fragile").calls == 28


def test_an_operator_that_is_left_alone_is_told_of(recorded: Recorded) -> None:
    matcher = Matcher({"attributes": {"n": "bigint"}})
    matcher.add("one", "fragile(n) = 0")
    for _ in range(12):
        matcher.match({"n": 3})
    tally = OperatorTally()
    (found,) = tally.reports()
    assert found == OperatorReport("fragile", is_open=True)
    matcher.match({"n": 3})
    assert tally.reports() == [OperatorReport("fragile", skipped=1, is_open=True)]


def test_reports_are_summed_by_operator_with_the_last_failures() -> None:
    failures = [FailedCall(float(at), str(at), "no") for at in range(8)]
    one = OperatorReport("b", calls=2, seconds=0.5, saved=7, lately=tuple(failures[::2]))
    two = OperatorReport("b", calls=3, seconds=0.25, failures=8, is_open=True, lately=tuple(failures[1::2]))
    found = sum_reports([one, OperatorReport("a", runs=1), two])
    assert found[0] == OperatorReport("a", runs=1)
    assert found[1] == OperatorReport(
        "b", calls=5, seconds=0.75, saved=7, failures=8, is_open=True, lately=tuple(failures[3:])
    )


def test_a_report_is_plain_data() -> None:
    report = OperatorReport("b", 2, 1, 0.5, 3, 4, 5, 6, 7, True, (FailedCall(1.5, "'x'", "no"),))
    assert OperatorReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    with pytest.raises(ValueError, match=r"expected operator, calls, .* of an operator, found"):
        OperatorReport.from_dict({"operator": "b"})


def test_a_ledger_survives(tmp_path: Path) -> None:
    file = tmp_path / "state" / "operators.json"
    ledger = OperatorLedger(file)
    assert ledger.costs() == {}
    ledger.add([])
    assert not file.exists()
    ledger.add(
        [OperatorReport("a", calls=10, seconds=0.1, failures=1, is_open=True), OperatorReport("b", saved=3)]
    )
    ledger.add([OperatorReport("a", calls=10, seconds=0.3)])
    again = OperatorLedger(file)
    assert again.costs() == ledger.costs() == {"a": pytest.approx(0.02)}
    assert again.reports() == ledger.reports()
    assert again.reports() == (OperatorReport("a", 20, 0, 0.4, failures=1), OperatorReport("b", saved=3))


def test_what_calls_cost_lately_counts_more(tmp_path: Path) -> None:
    ledger = OperatorLedger(tmp_path / "operators.json")
    ledger.add([OperatorReport("a", calls=100_000, seconds=100.0)])
    for _ in range(20):
        ledger.add([OperatorReport("a", calls=5_000, seconds=50.0)])
    assert ledger.costs()["a"] == pytest.approx(0.01, rel=0.01)


def test_a_ledger_that_cannot_be_read_is_begun_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "operators.json"
    file.write_text('{"operators": [{}]}')
    with caplog.at_level(logging.WARNING):
        ledger = OperatorLedger(file)
    assert str(file) in caplog.text
    ledger.add([OperatorReport("a", calls=1, seconds=0.5)])
    assert OperatorLedger(file).costs() == {"a": 0.5}
