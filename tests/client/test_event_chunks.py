"""Publishing: in chunks, with ids, so that nothing counts twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tamis.client import Client, ClientError
from tamis.client.event_chunks import CHUNK_BYTES, Chunks, chunks, event_line
from tests.client.server import Fault, Served

EVENTS = "/v1/events"


def ids_of(body: bytearray) -> list[str]:
    return [json.loads(line)["id"] for line in bytes(body).splitlines()]


def test_one_event_or_many(client: Client) -> None:
    assert client.publish({"id": "e1", "price": 1}).ids == ("e1",)
    assert client.publish([{"id": "e2"}, '{"id": "e3"}', b'{"id": "e4"}']).ids == ("e2", "e3", "e4")
    assert client.publish([]).accepted == 0
    assert [each.id for each in client.events()] == ["e4", "e3", "e2", "e1"]


def test_an_event_is_kept_as_it_was_given(client: Client) -> None:
    client.publish({"id": "a/b#1", "at": datetime(2026, 1, 2, tzinfo=UTC), "tags": ["é", None], "x": {"y": 1.5}})
    found = client.event("a/b#1")
    assert found.event == {"id": "a/b#1", "at": "2026-01-02T00:00:00Z", "tags": ["é", None], "x": {"y": 1.5}}
    assert (found.event_type, found.notifications) == ("event", ())
    with pytest.raises(ClientError, match="there is no event 'a/b#2'"):
        client.event("a/b#2")


def test_events_go_in_chunks_as_they_are_read(served: Served, client: Client) -> None:
    done: list[int] = []

    def events() -> Iterator[dict[str, int]]:
        for number in range(7):
            done.append(-number)
            yield {"id": number}

    accepted = client.publish(events(), chunk=3, progress=done.append)
    assert accepted.accepted == 7
    assert [len(ids_of(each.body)) for each in served.requests(EVENTS)] == [3, 3, 1]
    assert done == [0, -1, -2, -3, 3, -4, -5, -6, 6, 7]


def test_what_is_known_is_counted_as_repeated(client: Client) -> None:
    client.publish([{"id": "e1"}, {"id": "e2"}])
    again = client.publish([{"id": "e2"}, {"id": "e3"}, {"id": "e3"}])
    assert (again.accepted, again.repeated, again.ids) == (1, 2, ("e2", "e3", "e3"))


@pytest.mark.parametrize("nameless", [{"x": 1}, {"id": None, "x": 1}, {"id": "", "x": 1}, '{"x": 1}', '{"id":""}'])
def test_an_event_without_an_id_counts_once_however_often_it_is_sent(
    served: Served, client: Client, nameless: dict[str, int] | str
) -> None:
    served.faults += [Fault(EVENTS), Fault(EVENTS)]
    accepted = client.publish([nameless, nameless])
    assert (accepted.accepted, accepted.repeated) == (0, 2)  # they were taken when the answer was lost
    sent = [ids_of(each.body) for each in served.requests(EVENTS, "POST")]
    assert sent == [[*accepted.ids]] * 3
    assert len({*accepted.ids}) == 2
    assert len([*client.events()]) == 2


def test_a_cut_answer_in_the_middle_of_many_loses_and_repeats_nothing(served: Served, client: Client) -> None:
    served.faults += [Fault(EVENTS) for _ in range(3)]
    client.publish(({"price": number} for number in range(100)), chunk=9)
    assert len(served.requests(EVENTS, "POST")) == 12 + 3
    kept = [each.event["price"] for each in client.events(page=30)]
    assert kept == [*range(99, -1, -1)]


def test_a_refused_chunk_leaves_those_before_it(client: Client) -> None:
    events: list[dict[str, Any]] = [{"id": "e1"}, {"id": "e2"}, {"id": "e3"}, {"id": ["no", "id"]}]
    with pytest.raises(ClientError, match="event 2: id: expected a text") as caught:
        client.publish(events, chunk=2)
    assert (caught.value.status, caught.value.kind) == (422, "invalid")
    assert caught.value.__notes__ == ["2 events before were published"]
    assert sorted(each.id for each in client.events()) == ["e1", "e2"]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("[1]", "expected a JSON object, found list"),
        ("{", "expected a JSON object, found something else"),
        ('{"x": NaN}', "JSON has no NaN"),
        (b"\xff", "expected a JSON object"),
        ({"x": float("inf")}, "cannot be written as JSON"),
        ({"x": object()}, "found object"),
        ({"x": "\ud800"}, "cannot be written as JSON"),
    ],
)
def test_what_is_no_event_is_named_before_it_is_sent(
    served: Served, client: Client, event: dict[str, object] | str, why: str
) -> None:
    with pytest.raises(ClientError, match=why) as caught:
        client.publish([{"id": "e1"}, event])
    assert (caught.value.status, caught.value.kind) == (None, "invalid")
    assert caught.value.detail.startswith("event 2: ")
    assert not served.asked


def test_a_text_keeps_its_digits() -> None:
    line = event_line('{"price": 1.100000000000000000001,\r\n "n": 1e400}')
    assert line.endswith(b'"price": 1.100000000000000000001,   "n": 1e400}\n')
    assert event_line("{}").startswith(b'{"id":"')
    assert json.loads(event_line("{ }"))["id"]


def test_a_chunk_is_full_by_events_or_by_bytes() -> None:
    long = json.dumps({"id": "e", "text": "x" * (CHUNK_BYTES // 2)})
    assert [len(each.splitlines()) for each in chunks([long] * 3, 100)] == [1, 1, 1]
    assert [len(each.splitlines()) for each in chunks(["{}"] * 5, 2)] == [2, 2, 1]
    with pytest.raises(ClientError, match="one event or more, found 0"):
        Chunks(0)
