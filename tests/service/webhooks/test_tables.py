"""The tables of webhooks: what is looked for often is found by an index."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.sql import Select

from tamis.service.webhooks import tables
from tamis.service.webhooks.tables import attempts, failed, webhooks


@pytest.mark.parametrize(
    "query",
    [
        select(webhooks).where(webhooks.c.subscription_id == "t/s"),
        select(attempts).where(attempts.c.notification_id == "n"),
        select(attempts).where(attempts.c.subscription_id == "t/s").order_by(attempts.c.number),
        select(failed).where(failed.c.subscription_id == "t/s").order_by(failed.c.seq),
    ],
)
def test_no_question_looks_through_a_whole_table(query: Select[tuple[object, ...]]) -> None:
    engine = create_engine("sqlite://")
    tables.metadata.create_all(engine)
    with engine.connect() as connection:
        compiled = query.compile(engine, compile_kwargs={"literal_binds": True})
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {compiled}")).all()
    engine.dispose()
    assert all("SEARCH" in row[3] for row in plan), plan
