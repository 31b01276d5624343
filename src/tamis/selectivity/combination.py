"""The selectivity of "at least k of these predicates", which is AND, OR and everything between."""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64
from tamis.kernels import kernel


@kernel
def at_least(least: int, selectivities: F64) -> float:
    """The probability that `least` of independent predicates hold, 1 <= least."""
    # held[k]: exactly k of the predicates so far hold; of the last entry: at least that many.
    held = np.zeros(least + 1, np.float64)
    held[0] = 1.0
    for selectivity in selectivities:
        held[least] += held[least - 1] * selectivity
        for count in range(least - 1, 0, -1):
            held[count] = held[count] * (1.0 - selectivity) + held[count - 1] * selectivity
        held[0] *= 1.0 - selectivity
    return float(held[least])
