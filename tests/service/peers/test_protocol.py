"""What linked services say to each other: events keep their texts, and what does not fit is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tamis.events import EventType
from tamis.service.inbox import Arrival, InboxEvent
from tamis.service.peers.links import LinkError
from tamis.service.peers.protocol import PROTOCOL, Hello, check_hello, read_events, type_hashes, write_events

ORDER = EventType.of({"name": "t/order", "attributes": {"price": "int"}})
OTHER = EventType.of({"name": "t/order", "attributes": {"price": "double"}})


def said(**fields: Any) -> Hello:
    types = type_hashes({"t/order": ORDER})
    return Hello(**{"site": "north", "protocol": PROTOCOL, "tamis": "1", "reach": [], "types": types, **fields})


def test_events_keep_their_ids_texts_and_ways() -> None:
    value = b'{"id": "1", "price": 1.00000000000000000001, "text": "\\n \xc3\xa4"}'
    event = InboxEvent(7, "t/1", "t/order", datetime.now(UTC), value, ("west",))
    body = write_events([event, event], "here")
    assert read_events(body) == [Arrival("t/1", "t/order", value, ("west", "here"))] * 2
    assert read_events(b"") == []


@pytest.mark.parametrize("body", [b"x", b"{}", b"{}\n{}", b'{"id": 1}\n{}\n{}'])
def test_what_is_no_pair_of_lines_is_refused(body: bytes) -> None:
    with pytest.raises(LinkError) as caught:
        read_events(body)
    assert caught.value.kind == "protocol"


@pytest.mark.parametrize(
    ("hello", "kind"),
    [
        (said(site="south"), "name"),
        (said(protocol=PROTOCOL + 1), "protocol"),
        (said(types=type_hashes({"t/order": OTHER})), "event type"),
    ],
)
def test_a_neighbour_that_does_not_fit_is_refused_by_kind(hello: Hello, kind: str) -> None:
    with pytest.raises(LinkError) as caught:
        check_hello(hello, "north", type_hashes({"t/order": ORDER}))
    assert caught.value.kind == kind


def test_types_that_only_one_knows_are_no_matter() -> None:
    check_hello(said(), "north", {})
    check_hello(said(types={}), "north", type_hashes({"t/order": ORDER}))
