"""A backup over HTTP: for the operator only, and what one service gives another takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.service.api.running import Running, Tenant, problem, running
from tests.service.api.test_subscriptions import subscribe

NDJSON = {"Content-Type": "application/x-ndjson"}


def test_it_goes_from_one_service_to_another(serving: Callable[..., Running], tmp_path: Path) -> None:
    old = serving()
    tenant = old.tenant()
    token = old.token("subscribe", tenant=tenant.name)
    ticket = subscribe(tenant.subscribe, id="a")["ticket"]
    tenant.admin.post("/v1/subscriptions/a/pause")
    answer = old.client(old.token("admin")).get("/v1/backup")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    before = tenant.subscribe.get("/v1/subscriptions/a").json()
    with running(tmp_path / "new") as new:
        operator = new.client(new.token("admin"))
        restored = operator.post("/v1/backup", content=answer.content, headers=NDJSON).json()
        assert (restored["tenant"], restored["subscription"], restored["refusals"]) == (2, 1, [])
        client = new.client(token)
        after = client.get("/v1/subscriptions/a").json()
        assert before | {"created": after["created"], "changed": after["changed"]} == after
        assert client.post("/v1/subscriptions/a/resume", headers={"Tamis-Ticket": ticket}).status_code == 200


def test_it_is_for_the_operator_only(served: Running, tenant: Tenant) -> None:
    plain = served.client(served.token("subscribe", "publish"))
    for client in (tenant.admin, plain):
        problem(client.get("/v1/backup"), 403, "forbidden")
        problem(client.post("/v1/backup", content="", headers=NDJSON), 403, "forbidden")


@pytest.mark.parametrize("line", ["{", "[" * 100_000])
def test_lines_that_are_not_json_are_named_and_nothing_is_restored(served: Running, line: str) -> None:
    operator = served.client(served.token("admin"))
    good = json.dumps({"tenant": {"name": "from-a-backup", "rights": {}}})
    said = problem(operator.post("/v1/backup", content=f"{good}\n{line}\n", headers=NDJSON), 422, "invalid")
    assert said["detail"].startswith("line 2: not JSON: ")
    assert "from-a-backup" not in served.service.accounts.tenants()
