"""All rules; importing a file of rules adds them."""

from __future__ import annotations

from tests.oracle import (  # noqa: F401  (importing adds)
    rules_boolean,
    rules_container,
    rules_number,
    rules_string,
    rules_time,
)
from tests.oracle.grammar import RULES

__all__ = ["RULES"]
