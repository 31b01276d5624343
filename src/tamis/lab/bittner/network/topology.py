"""Topologies of broker networks: acyclic and connected, so that there is exactly one path between two brokers.

Brokers are numbered from 0; a topology lists the neighbours of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Topology: TypeAlias = tuple[tuple[int, ...], ...]


def line(brokers: int) -> Topology:
    """Brokers in a line: each has two neighbours, those at the ends one.

    >>> line(3)
    ((1,), (0, 2), (1,))
    """
    return tree(brokers, 1)


def star(brokers: int) -> Topology:
    """All brokers linked to broker 0.

    >>> star(4)
    ((1, 2, 3), (0,), (0,), (0,))
    """
    return tree(brokers, max(1, brokers - 1))


def tree(brokers: int, fanout: int) -> Topology:
    """A tree with root 0, numbered by level, in which a broker has up to `fanout` children.

    >>> tree(5, 2)
    ((1, 2), (0, 3, 4), (0,), (1,), (1,))
    """
    if brokers < 1 or fanout < 1:
        msg = f"expected at least one broker and a fanout of at least 1, found {brokers} and {fanout}"
        raise ValueError(msg)
    return of_edges(brokers, [((number - 1) // fanout, number) for number in range(1, brokers)])


def of_edges(brokers: int, edges: Iterable[tuple[int, int]]) -> Topology:
    """The network with these links.

    Raises:
        ValueError: It has a cycle, or is not connected.
    """
    neighbours: list[list[int]] = [[] for _ in range(brokers)]
    for one, other in edges:
        for number in (one, other):
            if not 0 <= number < brokers:
                msg = f"link {one}-{other}: expected brokers from 0 to {brokers - 1}"
                raise ValueError(msg)
        neighbours[one].append(other)
        neighbours[other].append(one)
    return validate(neighbours)


def validate(neighbours: Sequence[Sequence[int]]) -> Topology:
    """The topology with these neighbours of each broker.

    Raises:
        ValueError: A link goes one way only, there is a cycle, or the network is not connected.
    """
    if not neighbours:
        msg = "expected at least one broker, found none"
        raise ValueError(msg)
    for broker, others in enumerate(neighbours):
        for other in others:
            if not 0 <= other < len(neighbours) or broker not in neighbours[other]:
                msg = f"broker {broker}: expected a link back from its neighbour {other}"
                raise ValueError(msg)
    seen, stack = {0}, [(0, -1)]
    while stack:
        broker, sender = stack.pop()
        others = list(neighbours[broker])
        if sender >= 0:
            others.remove(sender)
        for other in others:
            if other in seen:
                msg = f"expected a network without cycles, found one through the link {broker}-{other}"
                raise ValueError(msg)
            seen.add(other)
            stack.append((other, broker))
    if len(seen) < len(neighbours):
        lost = next(broker for broker in range(len(neighbours)) if broker not in seen)
        msg = f"expected a network in one piece, found no way from broker 0 to broker {lost}"
        raise ValueError(msg)
    return tuple(tuple(others) for others in neighbours)
