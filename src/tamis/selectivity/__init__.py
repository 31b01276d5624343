"""Selectivity: the fraction of events in which a predicate or a formula holds.

A predicate is estimated from a sample of values (`sampling`), else assumed to have a prior (`priors`). A formula
follows from its predicates by independence (`combination`). Engines, verification and routing all stand
on these modules, each with its own data structure on top. No answer of tamis depends on these numbers, only the
order in which work is done.
"""
