"""For those who run the service: ping, ready, metrics and logs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from datetime import datetime

import pytest

from tamis._version import __version__
from tamis.service import metrics
from tamis.service.logs import JsonFormatter
from tamis.service.supervisor import Supervisor
from tests.service.api.running import Running, Tenant, problem

STATE = ("ready", "state", "since", "waits_for")
"""What `/ready` says beside the problem."""


def test_ping_says_who_is_there(served: Running) -> None:
    assert served.client().get("/ping").json() == {"tamis": __version__}


def test_ready_says_why_not(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    client = served.client()
    elsewhere = client.get("/ready").json()
    assert (elsewhere["ready"], elsewhere["state"]) == (True, "elsewhere")
    supervisor = Supervisor(served.service.settings, missing=lambda: None)
    monkeypatch.setattr(served.service, "supervisor", supervisor)
    supervisor.waits_for = "Spark to start"
    answer = client.get("/ready")
    said = problem(answer, 503, "unavailable", *STATE)
    assert answer.headers["retry-after"]
    assert said["detail"] == "the stream is warming up, and waits for Spark to start"
    assert (said["ready"], said["state"], said["waits_for"]) == (False, "warming up", "Spark to start")
    assert datetime.fromisoformat(said["since"]) == supervisor.since
    assert client.get("/ping").status_code == 200
    assert "tamis_ready 0.0" in client.get("/metrics").text
    supervisor.reason = "no memory"
    assert problem(client.get("/ready"), 503, "unavailable", *STATE)["detail"].endswith(
        "; it failed before: no memory"
    )
    supervisor.state, supervisor.reason, supervisor.waits_for = "failed", "no Java", None
    assert problem(client.get("/ready"), 503, "unavailable", *STATE)["detail"] == "the stream is failed: no Java"
    supervisor.state, supervisor.reason = "running", None
    assert client.get("/ready").json()["state"] == "running"
    assert "tamis_ready 1.0" in client.get("/metrics").text


@pytest.mark.slow
def test_the_metrics_are_those_that_are_documented(serving: Callable[..., Running]) -> None:
    served = serving()
    served.service.supervisor = Supervisor(served.service.settings, missing=lambda: None)
    tenant = served.tenant()
    tenant.publish.post("/v1/events", json=[{"id": "a"}, {"id": "b"}])
    tenant.publish.post("/v1/events", json={"id": "a"})
    answer = tenant.publish.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    own = answer.text.partition("# HELP tamis_events_total")[0]
    exported = {name for name, _ in re.findall(r"^# TYPE (\w+) (\w+)$", own, re.M)} - {
        f"tamis_{name}_created" for name in ("http_requests", "http_seconds", "published", "unadvertised")
    }
    assert metrics.__doc__ is not None
    assert exported == {*re.findall(r"^\| `(\w+)` \|", metrics.__doc__, re.M)}
    assert "tamis_published_total 2.0" in own
    assert "tamis_waiting_events 2.0" in own
    served.service.supervisor = None


def test_metrics_name_routes_and_never_what_people_asked_for(tenant: Tenant) -> None:
    tenant.subscribe.get("/v1/subscriptions/my-secret-name")
    tenant.subscribe.get("/my-secret-name")
    text = tenant.subscribe.get("/metrics").text
    assert "my-secret-name" not in text
    assert 'route="/v1/subscriptions/{id}",status="404"' in text


def test_logs_are_lines_of_json(tenant: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tamis.access"):
        tenant.subscribe.get("/v1/subscriptions/nothing", params={"secret": "x"})
    [record] = [each for each in caplog.records if each.name == "tamis.access"]
    line = JsonFormatter().format(record)
    said = json.loads(line)
    expected = {"level": "info", "method": "GET", "path": "/v1/subscriptions/nothing", "status": 404}
    assert said | expected == said
    assert said["seconds"] >= 0
    assert "secret" not in line and "\n" not in line


def test_an_exception_is_one_line_too() -> None:
    try:
        msg = "two\nlines"
        raise ValueError(msg)
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "%s failed", ("it",), None)
        record.exc_info = (type(error), error, error.__traceback__)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert "two\nlines" in json.loads(line)["trace"]
