"""The connection of client commands: refusals give exit code 1, everything else 2."""

from __future__ import annotations

import json

import pytest
import typer

from tamis.cli.client_service import open_client
from tamis.client import ClientError
from tamis.client.errors import CONNECTION, ConditionProblem

URL = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ClientError(403, "forbidden", "not yours"), 1, "tamis: refused: not yours (403 forbidden)\n"),
        (
            ClientError(None, CONNECTION, "nobody answers"),
            2,
            "tamis: error: nobody answers; is `tamis serve` running there? --url names another service\n",
        ),
    ],
)
def test_errors_become_messages_and_exit_codes(
    error: ClientError, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught, open_client(URL, "t", as_json=False):
        raise error
    assert (caught.value.exit_code, capsys.readouterr().err) == (code, message)


def refuse_condition(*, as_json: bool) -> None:
    problem = ConditionProblem("expected a value", 4, 5, 1, 5)
    with pytest.raises(typer.Exit), open_client(URL, "t", as_json=as_json, condition="a = )"):
        raise ClientError(422, "condition", "the condition is refused", [problem])


def test_a_refused_condition_is_underlined(capsys: pytest.CaptureFixture[str]) -> None:
    refuse_condition(as_json=False)
    assert capsys.readouterr().err.splitlines() == [
        "the condition is refused:",
        "line 1, column 5: expected a value",
        "  a = )",
        "      ^",
    ]


def test_a_refusal_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    refuse_condition(as_json=True)
    found = json.loads(capfd.readouterr().out)
    assert (found["status"], found["kind"], found["problems"][0]["start"]) == (422, "condition", 4)
