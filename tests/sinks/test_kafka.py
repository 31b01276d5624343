"""The sink `kafka`, as far as no broker is needed."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tamis.sinks import KafkaSink, SinkError
from tamis.sinks.kafka import records
from tests.sinks.deliveries import START, dead_letters, notifications


def made(folder: Path, **arguments: Any) -> KafkaSink:
    usual = {
        "bootstrap_servers": "127.0.0.1:9092",
        "topic": "found",
        "dead_topic": "bad",
        "state": folder / "state",
    }
    return KafkaSink(**{**usual, **arguments})


def test_a_record_has_the_id_as_key_and_the_row_as_value() -> None:
    table = notifications([(1, 1), (2, 1)], START)
    sent = records(table, "found").to_pylist()
    assert [each["key"] for each in sent] == table["id"].to_pylist()
    assert [json.loads(each["value"])["event_id"] for each in sent] == table["event_id"].to_pylist()
    assert {each["topic"] for each in sent} == {"found"}
    assert json.loads(records(dead_letters([b"{"], START), "bad")["value"][0].as_py())["original"] == "{"


def test_no_broker_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(SinkError, match=f"no broker answers: 127.0.0.1:{port}: "):
        made(tmp_path, bootstrap_servers=f"127.0.0.1:{port}").check()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"topic": ""}, "topic must be a text, found ''"),
        (
            {"bootstrap_servers": "broker"},
            "bootstrap_servers must be host:port, .*found 'broker'",
        ),
        ({"state": 1}, "state must be a path or URL, found 1"),
        ({"options": {"kafka.acks": 1}}, r"options\.kafka\.acks must be a text, found 1"),
    ],
)
def test_arguments_are_checked(tmp_path: Path, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(SinkError, match=f"sink kafka: {problem}"):
        made(tmp_path, **arguments)
