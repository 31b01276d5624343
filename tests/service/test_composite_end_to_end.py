"""Composite subscriptions in the whole service: subscribed, open, killed with everything, and complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.test_end_to_end import Process

pytestmark = pytest.mark.spark

TEXT = "step = 'cart' THEN step = 'pay' WITHIN INTERVAL '30' MINUTE BY user"


@pytest.fixture
def served(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("composite"))
    try:
        process.start()
        yield process
    finally:
        process.close()


def notifications(served: Process, subscription: str) -> list[tuple[str, list[str]]]:
    params: dict[str, Any] = {"subscription": subscription, "after": 0}
    items = served.client.get("/v1/notifications", params=params).json()["items"]
    told = [each["attributes"] for each in items]
    read = [json.loads(each) if isinstance(each, str) else each for each in told]
    return [
        (item["event_id"], [event["id"] for event in each["events"]])
        for item, each in zip(items, read, strict=True)
    ]


def opened(served: Process, subscription: str) -> list[tuple[list[Any], str, int]]:
    items = served.client.get(f"/v1/subscriptions/{subscription}/open").json()["items"]
    return [(each["key"], each["first"], each["found"]) for each in items]


def test_what_is_open_survives_a_kill_of_everything(served: Process) -> None:
    refused = served.client.post("/v1/subscriptions", json={"condition": "a THEN b", "dialect": "composite"})
    assert (refused.status_code, "WITHIN" in refused.text) == (422, True)
    ticket = served.subscribe("checkout", TEXT, dialect="composite")["ticket"]
    served.subscribe("plain", "step = 'cart'")
    at = "2026-11-18T09:{:02d}:00Z".format
    served.publish({"id": "e1", "time": at(0), "step": "cart", "user": "ann"})
    served.publish({"id": "e2", "time": at(1), "step": "cart", "user": "bob"})
    assert opened(served, "checkout") == [(["ann"], "e1", 1), (["bob"], "e2", 1)]
    assert "part 2 of 2 is to come" in served.client.get("/subscriptions/checkout").text

    served.kill()
    served.start()
    assert opened(served, "checkout") == [(["ann"], "e1", 1), (["bob"], "e2", 1)]
    served.publish({"id": "e3", "time": at(5), "step": "pay", "user": "ann"})
    served.until(lambda: notifications(served, "checkout"), "the match")
    assert notifications(served, "checkout") == [("e1", ["e1", "e3"])]
    assert served.notified("plain") == ["e1", "e2"]
    body = {"subscription": "checkout", "event_id": "e2"}
    told = served.client.post("/v1/conditions/explain", json=body).json()
    assert told["verdict"] is False
    assert "open for bob: 1 found, until 2026-11-18 09:31:00" in told["text"]

    # Another condition begins anew.
    change = {"condition": TEXT.replace("'pay'", "'leave'"), "dialect": "composite"}
    changed = served.client.patch("/v1/subscriptions/checkout", json=change, headers={"Tamis-Ticket": ticket})
    assert changed.status_code == 200, changed.text
    served.publish({"id": "e4", "time": at(6), "step": "leave", "user": "bob"})
    assert (opened(served, "checkout"), len(notifications(served, "checkout"))) == ([], 1)
