"""Which event type events are of, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.errors import SubscriptionError
from tamis.events.event_type import EventType
from tamis.matchers import Matchers
from tamis.snapshot import Manifest, Snapshots
from tamis.spark.stream_type import StreamType, living_types, sole_type

SALE = EventType.of({"name": "sale", "attributes": {"price": "double"}})
VISIT = EventType.of({"name": "visit", "attributes": {"page": "string"}})
EVENT = EventType()


def manifest(folder: Path, **subscriptions: int) -> Manifest:
    """A version with so many living subscriptions to each event type, after one was removed."""
    matchers = Matchers(each for each in (SALE, VISIT, EVENT) if each.name in subscriptions)
    for name, count in subscriptions.items():
        for number in range(count + 1):
            matchers[name].add(f"{name}{number}", "true")
        matchers[name].remove(f"{name}0")
    url = folder / f"{len([*folder.iterdir()])}"
    matchers.publish(url)
    return Snapshots(url).manifest()


def test_only_living_subscriptions_count(tmp_path: Path) -> None:
    assert living_types(manifest(tmp_path, sale=2, event=0)) == {"sale": 2}
    assert StreamType().choose(manifest(tmp_path, sale=0, event=1)) == "event"
    assert StreamType().choose(manifest(tmp_path, sale=1, visit=0)) == "sale"
    assert StreamType().choose(manifest(tmp_path, sale=0, visit=0)) is None
    assert StreamType().choose(manifest(tmp_path, sale=0)) == "sale"
    assert StreamType().choose(manifest(tmp_path)) is None


def test_a_type_with_attributes_takes_precedence_over_the_schemaless_one() -> None:
    schemaless = {"sale": False, "visit": False, "event": True}
    assert sole_type(schemaless, ["event", "sale"]) == "sale"
    with pytest.raises(SubscriptionError, match=r"several event types \(sale, visit\)") as refused:
        sole_type(schemaless, ["event", "sale", "visit"])
    assert 'write event_type = "sale" or event_type = "visit"; if' in str(refused.value)


def test_a_refusal_offers_some_of_many_types() -> None:
    names = [f"type{number}" for number in range(7)]
    with pytest.raises(SubscriptionError) as refused:
        sole_type(dict.fromkeys(names, False), names)
    assert 'event_type = "type4" or one of 2 more; if' in str(refused.value)


def test_what_the_caller_names_is_the_type_whatever_there_is(tmp_path: Path) -> None:
    assert StreamType(given="visit").choose(manifest(tmp_path, sale=1, visit=1)) == "visit"
    assert StreamType(given="visit").choose(manifest(tmp_path, sale=1)) == "visit"


def test_a_query_keeps_the_type_that_it_began_with(tmp_path: Path) -> None:
    file, versions = tmp_path / "state" / "event_type", tmp_path / "versions"
    versions.mkdir()
    assert StreamType(file).choose(manifest(versions, event=1), remember=False) == "event"
    assert not file.exists()
    assert StreamType(file).choose(manifest(versions, event=0)) == "event"
    assert not file.exists()  # nothing was matched yet
    assert StreamType(file).choose(manifest(versions, event=1)) == "event"
    assert StreamType(file).choose(manifest(versions, event=1, sale=5)) == "event"
    # The schemaless type yields once nobody subscribes to it; a declared one does not.
    assert StreamType(file).choose(manifest(versions, event=0, sale=5)) == "sale"
    assert StreamType(file).choose(manifest(versions, event=3, sale=0, visit=1)) == "sale"
    assert StreamType(file).choose(manifest(versions, visit=1)) == "visit"  # it was dropped


def test_a_name_that_no_event_type_has_is_doubtful(tmp_path: Path) -> None:
    store_types = Matchers([EventType("sale"), EventType("visit")])
    manifest = store_types.publish(tmp_path / "both")
    found = StreamType(given="sales").doubt(manifest)
    assert found is not None and found.endswith("known are sale, visit; did you mean 'sale'?")
    assert StreamType(given="sale").doubt(manifest) is None
    assert StreamType().doubt(manifest) is None
    assert StreamType(given="sales").doubt(Matchers().publish(tmp_path / "none")) is None, "it may come"
    assert StreamType(given="sales").choose(manifest) == "sales"
