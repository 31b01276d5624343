"""An interned program has equal parts once, and says what the forest says."""

from __future__ import annotations

import numpy as np

from tamis.engines.bitslice.residual_program import residual_program_of
from tamis.engines.formula_program import holds, new_memory
from tests.engines.bitslice.build_steps import build_steps


def test_equal_parts_are_one_and_mean_the_same() -> None:
    steps = build_steps(11, 60, 12, domain=6, depth=3)
    nodes, roots = steps.forest.nodes, steps.forest.roots.astype(np.int64)
    program, numbers = residual_program_of(steps.forest, *nodes, np.concatenate([roots, roots]))
    assert numbers[: len(roots)].tolist() == numbers[len(roots) :].tolist()
    parts = [
        (int(program.least[node]), *program.children[program.firsts[node] : program.firsts[node + 1]].tolist())
        for node in range(len(program.least))
    ]
    assert len(set(parts)) == len(parts)
    assert len(program.kinds) < len(steps.forest.leaves.kinds), "some leaves are equal"
    memory = new_memory(program, 0)
    for event in range(len(steps.events)):
        memory.turn[0] += 1
        for slot, root in enumerate(roots.tolist()):
            assert holds(program, int(numbers[slot]), steps.encoded, event, memory) == steps.holds(root, event)
