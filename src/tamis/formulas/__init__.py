"""Compiled conditions: typed expressions, monotone formulas over predicates, and their stored form."""
