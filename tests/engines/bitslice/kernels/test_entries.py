"""An entry's ranges, residual and guard together say what its formula says."""

from __future__ import annotations

import numpy as np

from tamis.engines.bitslice.entries import bound_code
from tamis.engines.bitslice.kernels.verify import is_within_bounds
from tamis.engines.bitslice.kernels.visits import batch_of, row_tests, visits_of
from tamis.engines.bitslice.layout import NO_NODE
from tamis.engines.formula_program import holds, new_memory
from tests.engines.bitslice.build_steps import build_steps


def test_exactly_one_visited_entry_of_a_formula_that_holds_reports_it() -> None:
    """The naive twin of the search: every entry of every visited group, range by range."""
    steps = build_steps(10, 80, 25, depth=3)
    arrays = steps.index.index
    entries, groups, ranges = arrays.entries, arrays.groups, arrays.ranges
    batch = batch_of(arrays.cells, steps.encoded, np.empty(0, np.int32), False)
    visits = visits_of(groups, arrays.attribute_pairs, batch, row_tests(steps.encoded))
    memory = new_memory(arrays.program, 0)
    code = bound_code(arrays.cells, ranges, 0)
    for event in range(len(steps.events)):
        memory.turn[0] += 1
        found = list[int]()
        for group in visits.groups[visits.firsts[event] : visits.firsts[event + 1]].tolist():
            for entry in range(groups.run_entries[groups.runs[group]], groups.run_entries[groups.runs[group + 1]]):
                own = entries.ranges[entries.firsts[entry] : entries.firsts[entry + 1]]
                rows = batch.rows[event, batch.columns[ranges.axes[own]]]
                inside = bool(((rows > ranges.lows[own]) & (rows <= ranges.highs[own])).all())
                for roots, wanted in ((entries.residuals, True), (entries.guards, False)):
                    if len(roots) and roots[entry] != NO_NODE:
                        root = int(roots[entry])
                        inside = inside and holds(arrays.program, root, steps.encoded, event, memory) == wanted
                if inside and is_within_bounds(entries, ranges, code, np.uint64(entry), batch, np.uint64(event)):
                    found.append(int(entries.slots[entry]))
        roots_ = steps.forest.roots.tolist()
        assert sorted(found) == [slot for slot, root in enumerate(roots_) if steps.holds(root, event)]
