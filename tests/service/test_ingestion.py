"""The events of a request: how they are read, named and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.events.event_type import EventType
from tamis.service.ingestion import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    JSON,
    JSON_LINES,
    PublishedEvent,
    PublishError,
    arrivals,
    read_events,
    refuse_misfits,
)

LINES = JSON_LINES[0]
CLOUD = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "sale"}


def read(
    body: bytes | str, media_type: str = JSON, most_bytes: int = 1_000, most_events: int = 100
) -> list[PublishedEvent]:
    text = body.encode() if isinstance(body, str) else body
    return read_events(text, media_type, most_bytes=most_bytes, most_events=most_events)


def problems(body: bytes | str, media_type: str = JSON, **limits: int) -> list[tuple[int, str]]:
    with pytest.raises(PublishError) as caught:
        read(body, media_type, **limits)
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
    assert read(body, media_type) == [PublishedEvent("a", None, b'{"id": "a", "x": 1}')]


def test_numbers_keep_all_their_digits() -> None:
    text = '{"id": 12345678901234567890, "x": 0.1000000000000000055511151231257827, "y": 1E400}'
    [event] = read(f"[{text}]")
    assert event == PublishedEvent("12345678901234567890", None, text.encode())


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
@given(
    st.lists(documents.map(lambda each: {**each, "id": "a"}), min_size=1, max_size=4), st.sampled_from([None, 1])
)
def test_elements_of_an_array_are_the_documents_that_json_reads(events: list[Any], indent: int | None) -> None:
    longest = max(len(json.dumps(each)) for each in events)
    found = read(json.dumps(events, indent=indent), most_bytes=10 * longest)
    assert [json.loads(each.value) for each in found] == events
    found = read(json.dumps(events), most_bytes=longest)  # an array that is read in several parts
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


# --- limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("media_type", [JSON, LINES])
def test_a_request_has_so_many_events_and_no_more_are_read(media_type: str) -> None:
    each, glue, ends = (
        b'{"id": "a"}',
        b"," if media_type == JSON else b"\n",
        b"[]" if media_type == JSON else b"  ",
    )

    def body(count: int, rest: bytes = b"") -> bytes:
        return ends[:1] + glue.join([each] * count) + rest + ends[1:]

    assert len(read(body(3), media_type, most_events=3)) == 3
    found = problems(body(3, glue + each + glue + b"what is no JSON"), media_type, most_events=3)
    assert found == [(4, "a request has at most 3 events")]


@pytest.mark.parametrize("media_type", [JSON, LINES])
def test_an_event_that_is_too_long_is_not_parsed(media_type: str) -> None:
    text = '{"id": "a", "x": "' + "y" * 1_000  # it has no end
    assert problems(text, media_type) == [(1, "it has over 1,000 bytes, which is the most that is taken")]


def test_an_element_that_is_too_long_is_not_parsed_to_its_end() -> None:
    fine = '{"id": "a"}'
    [(place, said)] = problems(f'[{fine}, {{"x": "{"y" * 5_000}"}}, {fine}]')
    assert (place, said.partition(":")[2].partition(":")[0]) == (1, " or an event of more than 1,000 bytes")
    [(place, said)] = problems("[" + "[" * 100_000 + "]" * 100_000 + "]")
    assert place == 1 and said.startswith("not JSON")


def test_an_array_longer_than_an_event_may_be_is_read_in_parts() -> None:
    ids = [f"{number:0{number % 40 + 1}d}" for number in range(100)]
    events = [{"id": id, "n": 10**number} for number, id in enumerate(ids)]
    found = read(json.dumps(events, indent=1), most_bytes=200)
    assert [json.loads(each.value) for each in found] == events


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
        (json.dumps({"id": "a", "x": "y" * 1_000}), "it has over 1,000 bytes, which is the most that is taken"),
        (
            json.dumps({"id": "a", "x": "é" * 900}, ensure_ascii=False),
            "it has 1,820 bytes; at most 1,000 are taken",
        ),
        (b"\xff", "not a text in UTF-8: invalid start byte at byte 0"),
        ('{"id": ' + "[" * 100_000, "not JSON: "),
        ('{"id": ' + "9" * 5_000 + "}", "not JSON: "),
    ],
)
def test_what_is_no_event_is_refused(body: bytes | str, problem: str) -> None:
    [(place, found)] = problems(body, most_bytes=200_000 if problem.startswith("not JSON") else 1_000)
    assert place == 1
    assert found.startswith(problem)


def test_every_dead_letter_of_a_request_is_named_by_its_place() -> None:
    found = problems('{"id": 1}\nnonsense\n{"id": 2}\n[]\n', LINES)
    assert [place for place, _ in found] == [2, 4]


# --- types -------------------------------------------------------------------------------------------------------


def test_an_event_has_the_declared_type_that_it_names_or_the_default() -> None:
    events = [
        PublishedEvent("1", "sale", b"{}"),
        PublishedEvent("2", "rent", b"{}"),
        PublishedEvent("3", None, b"{}"),
    ]
    found = arrivals("t", events, ["sale"], "event")
    assert [(each.id, each.event_type) for each in found] == [
        ("t/1", "t/sale"),
        ("t/2", "t/event"),
        ("t/3", "t/event"),
    ]


# --- misfits -----------------------------------------------------------------------------------------------------

SALE = EventType.of(
    {"name": "sale", "attributes": {"price": {"type": "int", "required": True}, "brand": "string"}}
)


def test_events_that_do_not_fit_are_refused_with_what_was_expected() -> None:
    events = read('[{"price": 1}, {"price": "dear"}, {"brand": "x"}, {"price": 2, "colour": 3}]')
    refuse_misfits(events[:1], {"sale": SALE}, "sale")
    refuse_misfits(events, {"sale": SALE}, "event")  # which is schemaless
    with pytest.raises(PublishError) as caught:
        refuse_misfits(events, {"sale": SALE}, "sale")
    assert caught.value.problems == [(2, "price expected int, found 'dear'"), (3, "price is required")]


def test_an_event_that_names_its_type_is_held_against_that_one() -> None:
    events = read(json.dumps([CLOUD, {**CLOUD, "type": "other"}]), CLOUD_EVENTS)
    with pytest.raises(PublishError) as caught:
        refuse_misfits(events, {"sale": SALE}, "event")
    assert caught.value.problems == [(1, "price is required")]
