"""How many characters must be inserted, deleted or replaced to turn one text into another.

Exact for all texts; takes time in proportion to the product of their lengths, which the caller bounds.
"""

from __future__ import annotations


def edit_distance(left: str, right: str) -> int:
    """Levenshtein's distance.

    >>> edit_distance("kitten", "sitting")
    3
    """
    # Hyyrö's bit vectors: bit i of each is about the first i + 1 characters of `left`.
    if not left:
        return len(right)
    places: dict[str, int] = {}
    for place, letter in enumerate(left):
        places[letter] = places.get(letter, 0) | 1 << place
    last, every = 1 << (len(left) - 1), (1 << len(left)) - 1
    up, down, distance = every, 0, len(left)
    for letter in right:
        same = places.get(letter, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        plus = down | (every & ~(diagonal | up))
        minus = diagonal & up
        distance += bool(plus & last) - bool(minus & last)
        plus = plus << 1 | 1
        up = (minus << 1 | ~(diagonal | plus)) & every
        down = plus & diagonal & every
    return distance
