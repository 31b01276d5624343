"""What a Spark user writes without tamis: every condition as an expression of one query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.syntax.printing import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def pairs_by_expressions(
    events: DataFrame, event_id: str, ids: Sequence[str], conditions: Sequence[str]
) -> DataFrame:
    """Pairs of `event_id` and `subscription_id` by Spark alone.

    One select has an array with a CASE for each subscription, of which those that hold are exploded. Spark
    generates code for some dozens of conditions; for hundreds it would be too long, and Spark interprets them.

    Args:
        events: Any events, with attributes as columns.
        event_id: The column with their ids.
        ids: Of the subscriptions.
        conditions: Of the subscriptions, as Spark SQL.
    """
    cases = ", ".join(
        f"CASE WHEN {condition} THEN {_literal(id)} END" for id, condition in zip(ids, conditions, strict=True)
    )
    found = f"explode(filter(array({cases}), each -> each IS NOT NULL)) AS subscription_id"
    return events.selectExpr(f"{quote_name(event_id)} AS event_id", found)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
