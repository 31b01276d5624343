"""The events of a request: how they are read, named and refused; and their way into the inbox together."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.inbox import Arrival, Inbox
from tamis.service.publishing import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    JSON,
    JSON_LINES,
    Incoming,
    Pace,
    PublishError,
    Publishing,
    arrivals,
    read_events,
)
from tests.service.living import arrival

LINES = JSON_LINES[0]
CLOUD = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "sale"}


def read(body: bytes | str, media_type: str = JSON, most_bytes: int = 1_000) -> list[Incoming]:
    return read_events(body.encode() if isinstance(body, str) else body, media_type, most_bytes=most_bytes)


def problems(body: bytes | str, media_type: str = JSON) -> list[tuple[int, str]]:
    with pytest.raises(PublishError) as caught:
        read(body, media_type)
    return caught.value.problems


# --- reading -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        ('{"id": "a", "x": 1}', JSON),
        (' [{"id": "a", "x": 1}]\n', JSON),
        ('\ufeff{"id": "a", "x": 1}', JSON),
        ('\n{"id": "a", "x": 1}\r\n\n', LINES),
    ],
)
def test_an_event_is_taken_with_its_text_as_it_came(body: str, media_type: str) -> None:
    assert read(body, media_type) == [Incoming("a", None, b'{"id": "a", "x": 1}')]


def test_numbers_keep_all_their_digits() -> None:
    text = '{"id": 12345678901234567890, "x": 0.1000000000000000055511151231257827, "y": 1E400}'
    [event] = read(f"[{text}]")
    assert event == Incoming("12345678901234567890", None, text.encode())


def test_many_events_keep_their_order() -> None:
    ids = [str(number) for number in range(50)]
    assert [each.id for each in read(json.dumps([{"id": id} for id in ids]))] == ids
    assert [each.id for each in read("\n".join(json.dumps({"id": id}) for id in ids), LINES)] == ids


def test_an_event_without_an_id_gets_one_that_nobody_else_has() -> None:
    first, second = read('[{"x": 1}, {}]')
    assert first.id != second.id
    assert json.loads(first.value) == {"id": first.id, "x": 1}
    assert json.loads(second.value) == {"id": second.id}
    [empty] = read('{"id": null}')
    assert empty.id
    assert empty.value == b'{"id": null}'


def test_an_event_becomes_one_line() -> None:
    [event] = read('{\r\n "id": "a",\n "x": "b\\nc"\n}')
    assert b"\n" not in event.value
    assert json.loads(event.value) == {"id": "a", "x": "b\nc"}


documents = st.dictionaries(
    st.text(), st.recursive(st.integers() | st.text() | st.none() | st.booleans(), st.lists)
)


@pytest.mark.slow
@given(st.lists(documents.map(lambda each: {**each, "id": "a"}), min_size=1), st.sampled_from([None, 1]))
def test_elements_of_an_array_are_the_documents_that_json_reads(events: list[Any], indent: int | None) -> None:
    found = read_events(json.dumps(events, indent=indent).encode(), JSON, most_bytes=10**9)
    assert [json.loads(each.value) for each in found] == events


# --- CloudEvents -------------------------------------------------------------------------------------------------


def test_a_cloud_event_is_named_by_source_and_id() -> None:
    [event] = read(json.dumps({**CLOUD, "data": {"x": 1}}), CLOUD_EVENT)
    assert (event.id, event.event_type) == ("/shop#1", "sale")
    assert json.loads(event.value)["data"] == {"x": 1}


def test_a_batch_of_cloud_events() -> None:
    events = [{**CLOUD, "id": str(number)} for number in range(3)]
    assert [each.id for each in read(json.dumps(events), CLOUD_EVENTS)] == ["/shop#0", "/shop#1", "/shop#2"]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"source": None}, "a CloudEvent has a text 'source', found None"),
        ({"type": ""}, "a CloudEvent has a text 'type', found ''"),
        ({"id": 1}, "a CloudEvent has a text 'id', found 1"),
        ({"specversion": "0.3"}, "expected a CloudEvent of version 1.0, found '0.3'"),
        ({"data_base64": "AA=="}, "data_base64 cannot be looked into; expected data"),
    ],
)
def test_what_is_no_cloud_event_is_refused(changed: dict[str, Any], problem: str) -> None:
    assert problems(json.dumps({**CLOUD, **changed}), CLOUD_EVENT) == [(1, problem)]


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "not JSON: Expecting value"),
        ("[]", "there is none"),
        ("{", "not JSON: "),
        ('{"id": 1} x', "not JSON: Extra data"),
        ('[{"id": 1},]', "not JSON: "),
        ('[{"id": 1}', "not JSON: expected , or ]"),
        ('[{"id": 1}] 1', "not JSON: expected , or ] and nothing after it"),
        ("[1]", "expected an object, found a number"),
        ("null", "expected an object, found null"),
        ('{"id": NaN}', "not JSON: NaN is no JSON number"),
        ('{"id": 1.5}', "id: expected a text or a whole number, found a number"),
        ('{"id": true}', "id: expected a text or a whole number, found a truth value"),
        ('{"id": "a\\u0000"}', "id: expected a text without U+0000"),
        ('{"id": "\\ud800"}', "id: expected a text without U+0000 and half characters"),
        (json.dumps({"id": "x" * 513}), "id: expected at most 512 characters, found 513"),
        (json.dumps({"id": "a", "x": "y" * 1_000}), "it has 1,020 bytes; at most 1,000 are taken"),
        (b"\xff", "not a text in UTF-8: invalid start byte at byte 0"),
        ('{"id": ' + "[" * 100_000, "not JSON: "),
        ('{"id": ' + "9" * 5_000 + "}", "not JSON: "),
    ],
)
def test_what_is_no_event_is_refused(body: bytes | str, problem: str) -> None:
    [(place, found)] = problems(body)
    assert place == 1
    assert found.startswith(problem)


def test_every_bad_event_of_a_request_is_named_by_its_place() -> None:
    found = problems('{"id": 1}\nnonsense\n{"id": 2}\n[]\n', LINES)
    assert [place for place, _ in found] == [2, 4]


# --- types -------------------------------------------------------------------------------------------------------


def test_an_event_has_the_declared_type_that_it_names_or_the_default() -> None:
    events = [Incoming("1", "sale", b"{}"), Incoming("2", "rent", b"{}"), Incoming("3", None, b"{}")]
    found = arrivals("t", events, ["sale"], "event")
    assert [(each.id, each.event_type) for each in found] == [
        ("t/1", "t/sale"),
        ("t/2", "t/event"),
        ("t/3", "t/event"),
    ]


# --- into the inbox ----------------------------------------------------------------------------------------------


def test_requests_that_come_together_are_written_together(url: str) -> None:
    inbox = Inbox(url)
    sizes: list[int] = []
    may_write = threading.Event()

    class Slow:
        def append(self, arrivals: list[Arrival]) -> list[bool]:
            may_write.wait(60)
            sizes.append(len(arrivals))
            return inbox.append(arrivals)

    async def run() -> list[list[bool]]:
        publishing = Publishing(Slow())  # type: ignore[arg-type]
        asked = [
            asyncio.create_task(publishing.publish([arrival("t", f"{number}", {}), arrival("t", "shared", {})]))
            for number in range(5)
        ]
        await asyncio.sleep(0)
        may_write.set()
        answers = await asyncio.gather(*asked)
        await publishing.close()
        return answers

    answers = asyncio.run(run())
    assert sum(sizes) == 10
    assert len(sizes) <= 2, "the first request may be written alone"
    assert [each[0] for each in answers] == [True] * 5
    assert [each[1] for each in answers].count(True) == 1
    assert len(inbox.between(0, inbox.end())) == 6
    inbox.close()


def test_a_write_that_fails_is_told_to_those_who_wait_for_it_and_the_next_goes_on() -> None:
    class Failing:
        times = 0

        def append(self, arrivals: list[Arrival]) -> list[bool]:
            self.times += 1
            if self.times == 1:
                msg = "the disk is full"
                raise OSError(msg)
            return [True] * len(arrivals)

    async def run() -> list[bool]:
        publishing = Publishing(Failing())  # type: ignore[arg-type]
        with pytest.raises(OSError, match="the disk is full"):
            await publishing.publish([arrival("t", "a", {})])
        return await publishing.publish([arrival("t", "a", {})])

    assert asyncio.run(run()) == [True]


# --- pace --------------------------------------------------------------------------------------------------------


def test_a_pace_lets_so_much_through_in_a_second() -> None:
    pace = Pace(10, now=0.0)
    assert [pace.take(1, now=0.0) for _ in range(10)] == [0.0] * 10
    assert pace.take(1, now=0.0) > 0
    assert pace.take(1, now=0.1) == 0.0
    assert pace.take(1, now=0.1) > 0


def test_a_large_request_is_taken_and_the_next_one_waits_for_it() -> None:
    pace = Pace(10, now=0.0)
    assert pace.take(50, now=0.0) == 0.0
    assert pace.take(1, now=0.0) == pytest.approx(4.0)
    assert pace.take(1, now=4.1) == 0.0


def test_what_is_not_used_is_not_saved_up_for_more_than_a_second() -> None:
    pace = Pace(2, now=0.0)
    assert [pace.take(1, now=1_000.0) > 0 for _ in range(3)] == [False, False, True]
