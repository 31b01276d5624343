from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.cli.subscriptions import SubscriptionEntry, read_subscriptions
from tamis.errors import DialectError, SubscriptionError


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read(name: str, content: str | bytes, **options: Any) -> list[SubscriptionEntry]:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_subscriptions(str(path), **options)

    return read


def test_json_lines_with_everything(read: Any) -> None:
    line = '{"id": 7, "condition": "a = 1", "event_type": "t", "priority": -2, "owner": "me", "label": "l"}'
    (entry,) = read("s.jsonl", line)
    assert (entry.id, entry.condition, entry.event_type, entry.priority, entry.owner) == (
        "7",
        "a = 1",
        "t",
        -2,
        "me",
    )
    assert (entry.stored, entry.is_old, entry.problems) == ({"label": "l"}, False, ())


def test_type_is_the_old_name_of_event_type(read: Any, capsys: pytest.CaptureFixture[str]) -> None:
    good = '{"id": "a", "condition": "x", "type": "t"}'
    same = '{"id": "b", "condition": "x", "type": "t", "event_type": "t"}'
    other = '{"id": "c", "condition": "x", "type": "t", "event_type": "u"}'
    entries = read("s.jsonl", f'{{"id": "0", "condition": "x"}}\n{good}\n{same}\n{other}\n')
    assert [entry.event_type for entry in entries] == [None, "t", "t", "u"]
    assert [len(entry.problems) for entry in entries] == [0, 0, 0, 1]
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("tamis: warning: ")
    assert said.endswith("s.jsonl:2: 'type' is called 'event_type' now; rename it")
    read("s.csv", "id,condition,event_type\na,x,t\n")
    assert capsys.readouterr().err == ""


def test_columns_that_no_subscription_has_are_refused(read: Any, tmp_path: Path) -> None:
    with pytest.raises(
        SubscriptionError, match=r"s\.csv: there is no column 'prioriti'; did you mean 'priority'\?"
    ):
        read("s.csv", "id,condition,prioriti\na,x,3\n")
    pq.write_table(pa.table({"id": [1], "condition": ["a"], "extra": [b""]}), tmp_path / "s.parquet")
    with pytest.raises(SubscriptionError, match="there is no column 'extra'; expected id, condition, event_type"):
        read_subscriptions(str(tmp_path / "s.parquet"))


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        ('{"id": "a", "condition"', ["not JSON: Expecting ':' delimiter at column 24"]),
        ("[]", ["expected a JSON object with id and condition"]),
        ("price < 3", ["not JSON: Expecting value at column 1"]),
        ("{}", ["id is missing", "condition is missing"]),
        ('{"id": "", "condition": "a"}', ['id: expected a text or an integer, found ""']),
        ('{"id": true, "condition": 3}', None),
        (
            '{"id": "a", "conditon": "a"}',
            ["there is no key 'conditon'; did you mean 'condition'?", "condition is missing"],
        ),
        (
            '{"id": "a", "condition": "a", "evnt_type": "sale"}',
            ["there is no key 'evnt_type'; did you mean 'event_type'?"],
        ),
        ('{"id": "a", "condition": "a", "priority": "1"}', ['priority: expected an integer, found "1"']),
        ('{"id": "a", "condition": "a", "owner": 1, "event_type": 2}', None),
    ],
)
def test_a_broken_record_keeps_its_place_with_everything_wrong(
    read: Any, line: str, problems: list[str] | None
) -> None:
    good = '{"id": "good", "condition": "a"}'
    first, broken, last = read("s.jsonl", f"{good}\n{line}\n{good.replace('good', 'other')}\n")
    assert (first.problems, last.problems, broken.line) == ((), (), 2)
    assert list(broken.problems) == problems if problems is not None else len(broken.problems) == 2


def test_text_keeps_columns_and_numbers_lines(read: Any) -> None:
    entries = read("s.txt", "\ufeff# head\r\n\r\n  a < 1\r\n--no\nb\n")
    assert [(entry.id, entry.condition, entry.whole_line) for entry in entries] == [
        ("3", "  a < 1", True),
        ("5", "b", True),
    ]


def test_line_that_is_not_utf8_is_a_problem_of_that_line(read: Any) -> None:
    bad, good = read("s.txt", b"a = '\xff'\nb\n")
    assert bad.problems == ("not UTF-8: invalid start byte at byte 5",)
    assert good.problems == ()


def test_lone_surrogate_is_a_question_mark_as_in_spark(read: Any) -> None:
    (entry,) = read("s.jsonl", '{"id": "\\ud800", "condition": "a"}')
    assert entry.id == "?"


def test_csv_cells_may_span_lines_and_the_first_line_counts(read: Any) -> None:
    entries = read("s.csv", 'id,condition,priority,owner\na,"x = 1\nAND y",3,\n\nb,"z in (1, 2)",,me\n')
    assert [(entry.id, entry.condition, entry.line) for entry in entries] == [
        ("a", "x = 1\nAND y", 2),
        ("b", "z in (1, 2)", 5),
    ]
    assert [(entry.priority, entry.owner) for entry in entries] == [(3, None), (0, "me")]


def test_csv_row_with_a_comma_too_many(read: Any) -> None:
    (entry,) = read("s.csv", "id,condition\na,z in (1, 2)\n")
    assert entry.problems == ("expected 2 cells, found 3; is a comma not quoted?",)


@pytest.mark.parametrize("content", ["", "id,text\na,b\n", "condition\na\n"])
def test_csv_without_the_columns_is_refused(read: Any, content: str) -> None:
    with pytest.raises(SubscriptionError, match="there is no column"):
        read("s.csv", content)


def test_parquet_rows_are_counted_from_1(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "condition": ["a", None]})
    pq.write_table(table, tmp_path / "s.parquet")
    first, second = read_subscriptions(str(tmp_path / "s.parquet"))
    assert (first.id, first.line, first.problems) == ("1", 1, ())
    assert (second.id, second.line, second.problems) == ("2", 2, ("condition is missing",))


def test_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.parquet").write_bytes(b"nonsense")
    with pytest.raises(SubscriptionError, match=r"s\.parquet"):
        read_subscriptions(str(tmp_path / "s.parquet"))


def test_documents_of_a_percolator_index(tmp_path: Path) -> None:
    lines = [
        '{"_index": "q", "_id": "7", "_score": 1.0, "_source": {"query": {"term": {"a": "ü"}}, "owner": "ann"}}',
        '{"query": {"match_all": {}}}',
        '{"id": 3, "condition": {"match_none": {}}}',
        '{"_id": "8", "_source": {"filter": 1}}',
    ]
    path = tmp_path / "queries.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    entries = read_subscriptions(str(path), dialect="percolator")
    assert [(entry.id, entry.condition) for entry in entries[:3]] == [
        ("7", '{"term": {"a": "ü"}}'),
        ("2", '{"match_all": {}}'),
        ("3", '{"match_none": {}}'),
    ]
    assert [bool(entry.problems) for entry in entries] == [False, False, False, True]
    text = tmp_path / "queries.txt"
    text.write_text("\n".join(lines[:2]), "utf-8")
    assert [(entry.id, entry.condition) for entry in read_subscriptions(str(text), dialect="percolator")] == [
        ("7", '{"term": {"a": "ü"}}'),
        ("2", lines[1]),
    ]


def test_rules_as_eventbridge_lists_them(read: Any) -> None:
    pattern = '{"source": ["aws.ec2"]}'
    rules = [
        {"Name": "a", "EventPattern": pattern, "State": "ENABLED", "EventBusName": "default"},
        {"Name": "b", "EventPattern": json.loads(pattern), "State": "DISABLED", "Description": "off"},
        {"Name": "c", "ScheduleExpression": "rate(1 hour)"},
    ]
    found = read("rules.jsonl", "".join(json.dumps(rule) + "\n" for rule in rules), dialect="eventbridge")
    assert [(each.id, each.condition, each.stored) for each in found[:2]] == [
        ("a", pattern, {}),
        ("b", pattern, {"label": "off", "state": "paused"}),
    ]
    assert [bool(each.problems) for each in found] == [False, False, True]


def test_dialects_of_records_and_of_lines(read: Any) -> None:
    records = '{"id": "a", "condition": {"x": [1]}}\n{"id": "b", "condition": "x = 1", "dialect": "jms"}\n'
    found = read("s.jsonl", records, dialect="eventbridge")
    assert [(each.condition, each.dialect) for each in found] == [('{"x": [1]}', "eventbridge"), ("x = 1", "jms")]
    lines = '# rules\n{"x": [1]}\n{"id": ["a"]}\n{"id": "r", "condition": {"x": [2]}}\n{"x": '
    found = read("s.txt", lines, dialect="eventbridge")
    assert [(each.id, each.condition, each.problems) for each in found] == [
        ("2", '{"x": [1]}', ()),
        ("3", '{"id": ["a"]}', ()),
        ("r", '{"x": [2]}', ()),
        ("5", '{"x": ', ()),
    ]
    [entry] = read("s.csv", "id,condition,dialect\na,x = 1,jms\n")
    assert entry.dialect == "jms"


def test_an_unknown_default_dialect_is_an_error(read: Any) -> None:
    with pytest.raises(DialectError):
        read("s.txt", "a = 1", dialect="nosuch")
