"""`dag`: the A-Tree of D. Jewel's thesis: all subscriptions in one graph of shared expressions, matched bottom-up.

- `kernels.nodes` (3.3): nodes with level, use count and sorted parent lists; predicate and subscription tables;
- `kernels.insertion` (3.6.2): new expressions get the brackets that reuse most nodes; `kernels.deletion` (3.6.1);
- `kernels.level_filter`: the general filter (3.4) and zero suppression (3.5.1); `kernels.true_value_path` (3.5.2);
- `exclusive_or`, `kernels.unknown`: the XOR of conditions as one node, NULL included; `conditions`: calls of
  operators as nodes;
- `expressions` and `kernels.functions`: the constraint language, k-of-n and arithmetic (4.2); priorities (4.1) are
  in all filters; `invariants` checks the theorems of 3.7.

Corrected against the thesis: NOT and other functions that are true of no true child are evaluated for every event
(*seeds*); operands are read by side, so that `-` and `<` are exact; use counts are by subscription, not by
occurrence; the dynamic programme's indices; ties go to the highest split, which its own figure needs; a common
parent is an intersection of parent lists, not a union. Added: a hash table of expressions, which the thesis
rejects for memory, is a choice.
"""

from __future__ import annotations

from tamis.lab.jewel.dag.index import Dag, DagIndex, FilterError, SlotError

__all__ = ["Dag", "DagIndex", "FilterError", "SlotError"]
