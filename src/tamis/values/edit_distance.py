"""The edit distance of two texts: how many characters must be inserted, deleted or replaced.

Takes time proportional to the product of their lengths, which the caller bounds.
"""

from __future__ import annotations


def edit_distance(left: str, right: str) -> int:
    """Levenshtein's distance.

    >>> edit_distance("kitten", "sitting")
    3
    """
    # Hyyrö's bit-parallel form of the dynamic programme. One column of its table is held as two bit vectors: bit
    # i of `up` (`down`) says that the cell for the first i + 1 characters of `left` is one more (less) than the
    # cell above.
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
