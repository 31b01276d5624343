"""Reports of refused subscriptions."""

from __future__ import annotations

import io
import json

import pytest

from tamis.cli.output import JsonLines
from tamis.cli.problems import condition_problems, refusal_text, report_refusal
from tamis.cli.subscriptions import SubscriptionEntry
from tamis.errors import ConditionError, SubscriptionError
from tamis.syntax.parser import parse

ENTRY = SubscriptionEntry("a", "x <\n)", "s.jsonl", 3)


@pytest.fixture
def error() -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        parse(ENTRY.condition)
    return caught.value


def test_problems_of_a_condition_have_line_and_column(error: ConditionError) -> None:
    (problem,) = condition_problems(error)
    assert (problem["line"], problem["column"]) == (2, 1)
    assert problem["message"].startswith("expected an attribute")


def test_a_refusal_as_text(error: ConditionError, capsys: pytest.CaptureFixture[str]) -> None:
    report_refusal(ENTRY, error, None)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "s.jsonl:3: subscription 'a' is refused:"
    assert lines[1].startswith("  line 2, column 1: expected")
    assert refusal_text(SubscriptionEntry("", "", "s", 1, problems=("no id",)), None) == (
        "s:1: this subscription is refused:\n  no id"
    )


def test_a_refusal_as_json(error: ConditionError) -> None:
    out = io.BytesIO()
    report_refusal(ENTRY, error, JsonLines(out))
    report_refusal(ENTRY, SubscriptionError("taken"), JsonLines(out))
    refused, taken = map(json.loads, out.getvalue().splitlines())
    assert (refused["kind"], refused["file"], refused["line"], refused["subscription_id"]) == (
        "refused",
        "s.jsonl",
        3,
        "a",
    )
    assert refused["problems"] == condition_problems(error)
    assert taken["problems"] == [{"message": "taken"}]
