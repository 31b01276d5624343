"""Operators: functions in conditions that are too expensive to compute for every event."""

from tamis.operators.registry import OPERATORS, Operator, OperatorError, install, operator, uninstall

__all__ = ["OPERATORS", "Operator", "OperatorError", "install", "operator", "uninstall"]
