"""The settings of a service reach the routing of its shards."""

from __future__ import annotations

from pathlib import Path

from tamis.routing.shards import BUDGET, Routing
from tamis.service.settings import ServiceSettings, load
from tamis.service.stream import routing_of


def test_a_service_with_one_shard_of_any_size_needs_no_routing() -> None:
    assert routing_of(ServiceSettings()) is None


def test_by_default_shards_are_routed_as_by_the_library_but_by_tenant() -> None:
    assert routing_of(ServiceSettings(shards=4)) == Routing(by_tenant=True)
    assert ServiceSettings().shard_bytes == BUDGET


def test_every_setting_of_shards_arrives(tmp_path: Path) -> None:
    file = tmp_path / "tamis.toml"
    file.write_text(
        'shard_limit = 9\nshard_bytes = 700\nshard_measure = "memory"\nshard_merging = true\nshard_cutoff = true\n'
    )
    assert routing_of(load(file, {}).settings) == Routing(
        budget=700, measure="memory", merging=True, adapts=True, shard_limit=9, by_tenant=True
    )
