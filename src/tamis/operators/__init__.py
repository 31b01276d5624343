"""Operators: what conditions may call that costs too much to be computed for every event."""

from tamis.operators.registry import OPERATORS, Operator, OperatorError, install, operator, uninstall

__all__ = ["OPERATORS", "Operator", "OperatorError", "install", "operator", "uninstall"]
