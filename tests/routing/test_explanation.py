"""A visit is explained by the entries that admit the event and the subscriptions that it matches."""

from __future__ import annotations

from pathlib import Path

from tamis import EventBatch, Matcher
from tamis.routing.explanation import explain_route
from tamis.routing.shards import Routing, ShardAssignments


def test_visits_with_and_without_matches(tmp_path: Path) -> None:
    matcher = Matcher({"name": "camera", "attributes": {"brand": "string", "price": "int"}})
    for brand in ("Nikon", "Sony"):
        matcher.add_many((f"{brand}-{price}", f"brand = '{brand}' AND price < {price}") for price in range(10, 20))
    assignments = ShardAssignments(str(tmp_path / "s"), 2, Routing(budget=6_000))
    assignment = assignments.assign(matcher.publish(tmp_path / "s"))
    events = [{"brand": "Sony", "price": 18}, {"brand": "Sony", "price": 99}, {"brand": "Leica", "price": 1}]
    batch = EventBatch.of(events, matcher.event_type)
    (useful,) = explain_route(assignment, batch, 0)
    assert (useful.found, useful.is_in_vain) == (("Sony-19",), False)
    (vain,) = explain_route(assignment, batch, 1)
    assert (vain.shard, vain.found, vain.is_in_vain) == (useful.shard, (), True)
    (admission,) = vain.admissions
    assert (admission.entry, admission.subscriptions) == ("brand = 'Sony'", 10)
    assert vain.to_dict()["admitted_by"][0]["example"].startswith("Sony-")
    assert explain_route(assignment, batch, 2) == []
