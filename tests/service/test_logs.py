"""Logs as JSON lines."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from tamis.service.logs import JsonFormatter, relay


def record(message: str, *args: object, **more: object) -> logging.LogRecord:
    made = logging.LogRecord("tamis.x", logging.WARNING, "x.py", 1, message, args, None)
    made.__dict__.update(more)
    return made


def test_a_record_is_one_line_with_its_fields() -> None:
    line = JsonFormatter().format(record("took %d\nlines", 3, fields={"path": "/ä", "seconds": 0.5}))
    assert "\n" not in line
    said = json.loads(line)
    assert said.pop("at").endswith("+00:00")
    assert said == {
        "level": "warning",
        "logger": "tamis.x",
        "message": "took 3\nlines",
        "path": "/ä",
        "seconds": 0.5,
    }


def test_an_exception_comes_with_its_trace() -> None:
    try:
        _ = 1 // 0
    except ZeroDivisionError:
        made = record("failed", exc_info=sys.exc_info())
    assert "ZeroDivisionError" in json.loads(JsonFormatter().format(made))["trace"]


def test_a_record_of_another_process_keeps_its_level_and_its_fields(caplog: pytest.LogCaptureFixture) -> None:
    line = JsonFormatter().format(record("compiling", fields={"seconds": 2}))
    assert relay(line, "stream") == "compiling"
    (found,) = caplog.records
    assert (found.levelno, found.name, found.getMessage()) == (logging.WARNING, "tamis.x", "compiling")
    assert found.fields == {"process": "stream", "seconds": 2}  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", ["java.lang.Oops", "[1]", '{"level": "odd", "logger": "x", "message": "y"}', "3"])
def test_any_other_line_of_a_process_is_for_information(line: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert relay(line, "stream") == line
    (found,) = caplog.records
    assert (found.levelno, found.getMessage()) == (logging.INFO, f"stream: {line}")
