"""What an attempt changes, in one transaction with the record of it.

Every change names the webhook by its subscription and the time it was made: one that was removed or made anew
while its receiver was called is not touched. A cursor never goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, insert, select, update
from sqlalchemy.sql import ColumnElement

from tamis.service.webhooks.records import Step
from tamis.service.webhooks.tables import CONFIRMED, PENDING, REFUSED, attempts, failed, webhooks


def record(connection: Connection, steps: Sequence[Step]) -> None:
    """Note attempts and what follows from them.

    The steps are taken in the order of their subscriptions, so that two who record never wait for each other in a
    circle.
    """
    if not steps:
        return
    connection.execute(insert(attempts), [asdict(step.attempt) for step in steps])
    for step in sorted(steps, key=lambda step: step.attempt.subscription_id):
        if step.is_replay:
            _after_replay(connection, step)
        elif step.seq is None:
            _after_handshake(connection, step)
        else:
            _after_notification(connection, step, step.seq)


def _after_handshake(connection: Connection, step: Step) -> None:
    attempt = step.attempt
    values: dict[str, Any] = {"attempts": 0, "next_attempt": 0, "reason": attempt.error}
    if step.then == "confirm":
        values |= {"state": CONFIRMED}
    elif step.then == "again":
        values |= {"attempts": attempt.attempt, "next_attempt": step.next_attempt}
    else:
        values |= {"state": REFUSED}
    connection.execute(update(webhooks).where(_is_this(step), webhooks.c.state == PENDING).values(**values))


def _after_notification(connection: Connection, step: Step, seq: int) -> None:
    attempt = step.attempt
    here = and_(_is_this(step), webhooks.c.cursor < seq)
    if step.then == "again":
        later = {"attempts": attempt.attempt, "next_attempt": step.next_attempt}
        connection.execute(update(webhooks).where(here).values(**later))
        return
    values: dict[str, Any] = {"cursor": seq, "attempts": 0, "next_attempt": 0}
    if step.then == "refuse":
        values |= {"state": REFUSED, "reason": attempt.error}
    moved = connection.execute(update(webhooks).where(here).values(**values)).rowcount
    if moved and step.then in ("park", "refuse"):
        row = {
            "notification_id": attempt.notification_id,
            "seq": seq,
            "subscription_id": attempt.subscription_id,
            "at": attempt.at,
            "attempts": attempt.attempt,
            "error": attempt.error or "",
            "tries": 0,
        }
        connection.execute(insert(failed).values(**row))


def _after_replay(connection: Connection, step: Step) -> None:
    attempt = step.attempt
    # A replay that ends after its webhook was made anew finds nothing to change.
    webhook = exists(select(webhooks.c.subscription_id).where(_is_this(step)))
    this = and_(failed.c.notification_id == attempt.notification_id, webhook)
    if step.then == "go on":
        connection.execute(delete(failed).where(this))
        return
    values: dict[str, Any] = {"attempts": attempt.attempt, "error": attempt.error or "", "at": attempt.at}
    if step.then == "again":
        values |= {"tries": failed.c.tries + 1, "next_attempt": step.next_attempt}
    else:
        values |= {"tries": 0, "next_attempt": None}
    connection.execute(update(failed).where(this).values(**values))
    if step.then == "refuse":
        gone = {"state": REFUSED, "reason": attempt.error}
        connection.execute(update(webhooks).where(_is_this(step)).values(**gone))


def _is_this(step: Step) -> ColumnElement[bool]:
    return and_(webhooks.c.subscription_id == step.attempt.subscription_id, webhooks.c.created == step.created)
