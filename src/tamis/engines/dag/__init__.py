"""`dag`: all formulas as one graph of shared expressions, looked at from the predicates that hold upwards.

Equal sub-formulas are one node (`nodes`); new formulas are put in the brackets that use the most of what is there
(`inserting`), and take with them only what nobody else uses (`deleting`). Three filters find the formulas that are
true of an event: `true-value-path` for AND and OR, `zero-suppression` for functions that are false of two falses,
`general` for all.
"""

from __future__ import annotations

from tamis.engines.dag.index import Dag, DagIndex, FilterError, SlotError

__all__ = ["Dag", "DagIndex", "FilterError", "SlotError"]
