from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from tamis.events.schemas import Problems
from tamis.spark.toml_tables import TomlTable, with_lines


def table(text: str) -> TomlTable:
    return TomlTable("", tomllib.loads(text), Path("/data"), Problems())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("30s", timedelta(seconds=30)),
        ("1 second", timedelta(seconds=1)),
        ("1.5 Minutes", timedelta(seconds=90)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
    ],
)
def test_durations_are_a_number_and_a_unit(text: str, expected: timedelta) -> None:
    assert table(f"wait = '{text}'").duration("wait") == expected


@pytest.mark.parametrize("text", ["'7'", "'0s'", "'-1s'", "'1 fortnight'", "7", "''"])
def test_anything_else_is_no_duration(text: str) -> None:
    read = table(f"wait = {text}")
    read.duration("wait")
    assert [each.partition(",")[0] for each in read.problems.found] == [
        "wait: expected a duration such as '500ms'"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in", "/data/in"),
        ("/in", "/in"),
        ("s3://bucket/in", "s3://bucket/in"),
        ("sqlite:///found.db", "sqlite:////data/found.db"),
        ("sqlite:////found.db", "sqlite:////found.db"),
        ("postgresql://host/found", "postgresql://host/found"),
    ],
)
def test_paths_are_relative_to_the_file_and_urls_stay(text: str, expected: str) -> None:
    assert table(f"place = '{text}'").place("place") == expected


def test_problems_get_the_lines_of_their_keys() -> None:
    text = """\
shards = 0
[spark.conf]
"spark.sql.x" = 1
[[event_types]]
name = "a"
[[event_types]]
name = 2
"""
    problems = ["shards: a", "spark.conf: b", "spark.conf.spark.sql.x: c", "event_types[1].name: d", "sink: e"]
    assert with_lines(problems, text) == [
        "line 1: shards: a",
        "line 2: spark.conf: b",
        "line 3: spark.conf.spark.sql.x: c",
        "line 7: event_types[1].name: d",
        "sink: e",
    ]
