"""What `python -m benchmarks routing` decides: where a cut-off is, and whether clients got everything."""

from __future__ import annotations

import pytest

from benchmarks import routing
from benchmarks.routing_accuracy import accuracy
from benchmarks.routing_cutoff import follow
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims.networks import Auctions, Network, auctions
from tamis.routing.cutoff import CutOff

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data() -> Auctions:
    return auctions(30, 60)


def test_the_network_follows_the_cut_off(data: Auctions) -> None:
    overlay = Network(line(3), data, rounds=1).overlay
    decides, made = CutOff(), []  # type: ignore[var-annotated]
    removed = [overlay.report().removed_share]
    for cost in (3.0, 2.0, 1.0):
        decides.observe(cost)
        follow(overlay, decides, made, count=10)
        removed.append(overlay.report().removed_share)
    assert removed == sorted(set(removed))
    decides.observe(9.0)
    follow(overlay, decides, made, count=10)
    assert len(made) == decides.step == 2
    assert overlay.report().removed_share == removed[2]


def test_the_network_stops_where_nothing_is_left(data: Auctions) -> None:
    overlay = Network(line(3), data, rounds=1).overlay
    decides, made = CutOff(), []  # type: ignore[var-annotated]
    for cost in (3.0, 2.0, 2.0):
        decides.observe(cost)
        follow(overlay, decides, made, count=10_000)
    assert len(made) == decides.step == 1
    assert decides.settled


def test_parts_are_known_by_name() -> None:
    with pytest.raises(SystemExit, match="there is no part nonsense"):
        routing.run("smallest", ["nonsense"])


def test_sizes_given_replace_those_of_the_network_pruned_by_accuracy() -> None:
    figures, bars, _ = accuracy("smallest", (15, 25))
    assert {name.split(",")[0] for name in figures} == {"size", "15 subscriptions", "25 subscriptions"}
    assert [bar.at_most for bar in bars.values()] == [False, True] * 2


@pytest.mark.parametrize("name", ["plain", "conjunctive", "kernels", "cover", "cover-kernels", "deregistration"])
def test_a_part_takes_the_size_that_it_is_given(name: str) -> None:
    assert name in routing.SIZED
    figures, _, _ = routing.parts()[name]("smallest", (15,))
    assert "15" in figures["size"]
