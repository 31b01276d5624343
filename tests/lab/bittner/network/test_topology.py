from __future__ import annotations

import pytest

from tamis.lab.bittner.network.topology import Topology, line, of_edges, star, tree, validate


def links(topology: Topology) -> set[tuple[int, int]]:
    return {(one, other) for one, others in enumerate(topology) for other in others if one < other}


def test_a_line_a_star_and_a_tree() -> None:
    assert links(line(4)) == {(0, 1), (1, 2), (2, 3)}
    assert links(star(4)) == {(0, 1), (0, 2), (0, 3)}
    assert links(tree(7, 2)) == {(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)}


def test_one_broker_has_no_neighbours() -> None:
    assert line(1) == star(1) == tree(1, 3) == ((),)


@pytest.mark.parametrize("brokers", [2, 5, 100])
@pytest.mark.parametrize("fanout", [1, 2, 3, 99])
def test_trees_have_a_link_less_than_brokers_and_no_more_than_the_fanout(brokers: int, fanout: int) -> None:
    made = tree(brokers, fanout)
    assert len(links(made)) == brokers - 1
    assert max(map(len, made)) <= fanout + 1
    assert validate(made) == made


def test_links_may_be_given_in_any_order() -> None:
    assert of_edges(4, [(3, 1), (1, 0), (2, 1)]) == ((1,), (3, 0, 2), (1,), (1,))


@pytest.mark.parametrize(
    ("brokers", "edges", "message"),
    [
        (3, [(0, 1), (1, 2), (2, 0)], "without cycles"),
        (2, [(0, 1), (0, 1)], "without cycles"),
        (2, [(0, 1), (1, 1)], "without cycles"),
        (3, [(0, 1)], "no way from broker 0 to broker 2"),
        (5, [(0, 1), (2, 3), (3, 4), (4, 2)], "no way from broker 0 to broker 2"),
        (2, [(0, 2)], "link 0-2: expected brokers from 0 to 1"),
        (0, [], "at least one broker"),
    ],
)
def test_other_networks_are_refused(brokers: int, edges: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        of_edges(brokers, edges)


def test_a_link_goes_both_ways() -> None:
    with pytest.raises(ValueError, match="broker 0: expected a link back from its neighbour 1"):
        validate([[1], []])
    with pytest.raises(ValueError, match="broker 0: expected a link back from its neighbour -1"):
        validate([[-1], [0]])


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="found 3 and 0"):
        tree(3, 0)
    with pytest.raises(ValueError, match="found 0 and 1"):
        line(0)
