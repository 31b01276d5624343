"""Three linked sites with real HTTP and real Spark: events go where somebody wants them, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.service.living import until
from tests.service.peers.chains import LinkedSite, are_linked, in_step, settled, sites_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def chain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LinkedSite]]:
    """Sites a, b and c, where b is between the others."""
    with sites_in(tmp_path_factory.mktemp("chain"), "a", "b", "c", spark=spark) as sites:
        a, b, c = sites
        a.link_to(b)
        b.link_to(c)
        are_linked(a, b, c)
        yield sites


def test_an_event_notifies_a_subscription_at_another_site_exactly_once(chain: list[LinkedSite]) -> None:
    a, b, c = chain
    c.subscribe("far", "far < 300 AND brand = 'Nikon'")
    b.subscribe("near", "far < 100")
    in_step(a, b, c)
    a.publish({"id": "f1", "far": 50, "brand": "Nikon"}, {"id": "f2", "far": 500}, {"id": "f3", "far": 60})
    until(lambda: c.notified("far"))
    settled(a, b, c)
    assert c.notified("far") == [("far", "f1")]
    assert sorted(b.notified("near")) == [("near", "f1"), ("near", "f3")]
    assert a.notified() == []
    there = c.service.inbox.get(["default/f1"])["default/f1"]
    assert there.path == ("a", "b")
    assert set(b.service.inbox.get(["default/f1", "default/f2", "default/f3"])) == {"default/f1", "default/f3"}
