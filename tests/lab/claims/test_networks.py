"""Networks of brokers are pruned to the end, and check what their clients get."""

from __future__ import annotations

import pytest

from tamis.lab.bittner.measures import ACCURACY
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims.networks import Auctions, Network, auctions, counted, knee, name_of, pruned

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data() -> Auctions:
    return auctions(30, 60)


def test_the_knee_is_where_a_curve_begins_to_rise() -> None:
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    assert knee(shares, [0.1, 0.1, 0.12, 0.2, 0.9]) == 3
    assert knee(shares, [0.1, 0.1, 0.1, 0.1, 0.1]) == 0
    assert knee(shares, [0.0, 0.9, 0.95, 0.99, 1.0]) == 0  # the rise comes first
    assert knee([0.0], [0.3]) == 0


def test_matches_are_no_work_of_their_own() -> None:
    assert counted({"held": 3, "hits": 5, "candidates": 2, "matches": 1}) == 10


def test_a_path_goes_from_nothing_to_everything(data: Auctions) -> None:
    path = pruned(Network(line(3), data, rounds=1, measure=ACCURACY), steps=4)
    assert path.shares == sorted(path.shares)
    assert (path.shares[0], path.shares[-1]) == (0.0, 1.0)
    assert path.points[0].report.removed_share == 0.0
    assert path.points[-1].report.removed_share > 0.8
    assert path.loads[path.cut_off] <= path.loads[-1]
    assert path.saved(0) == path.saved(0, work=True) == 0.0
    assert path.saved(path.fastest) >= 0.0


def test_what_clients_do_not_get_is_noticed(data: Auctions) -> None:
    network = Network(line(3), data, rounds=1)
    wanted = int(data.expected[0] % len(data.formulas))
    network.overlay.unsubscribe(name_of(wanted))
    with pytest.raises(SystemExit, match=f"clients should get {len(data.expected)} events"):
        network.measured()
    assert network.measured(frozenset([wanted])).report.deliveries < len(data.expected)
