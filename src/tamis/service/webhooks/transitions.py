"""What an attempt changes, in one transaction with the record of it.

A change names the webhook by its subscription and its creation time: a webhook that was removed or replaced during
the call is not changed. A cursor never goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, insert, select, update
from sqlalchemy.sql import ColumnElement

from tamis.service.webhooks.records import Transition
from tamis.service.webhooks.tables import CONFIRMED, PAUSED, PENDING, REFUSED, attempts, failed, webhooks


def record_transitions(connection: Connection, steps: Sequence[Transition], pause_after: int = 0) -> None:
    """Note attempts and what follows from them.

    A webhook of which `pause_after` deliveries in a row have failed is paused; with 0, none is.

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
        if step.action == "park" and pause_after:
            _pause_failing(connection, step, pause_after)


def _after_handshake(connection: Connection, step: Transition) -> None:
    attempt = step.attempt
    state = CONFIRMED if step.action == "confirm" else REFUSED
    values = {"state": state, "reason": attempt.error, "since": attempt.at, "failures": 0}
    connection.execute(update(webhooks).where(_is_this(step), webhooks.c.state == PENDING).values(**values))


def _after_notification(connection: Connection, step: Transition, seq: int) -> None:
    attempt = step.attempt
    here = and_(_is_this(step), webhooks.c.cursor < seq)
    if step.action == "again":
        later = {"attempts": attempt.attempt, "next_attempt": step.next_attempt}
        connection.execute(update(webhooks).where(here).values(**later))
        return
    values: dict[str, Any] = {"cursor": seq, "attempts": 0, "next_attempt": step.next_attempt, "failures": 0}
    values["digest_upto"] = None
    if step.action == "refuse":
        values |= {"state": REFUSED, "reason": attempt.error, "since": attempt.at}
    elif step.action == "park":
        values |= {"failures": webhooks.c.failures + 1}
    moved = connection.execute(update(webhooks).where(here).values(**values)).rowcount
    if moved and step.action in ("park", "refuse"):
        row = {
            "notification_id": attempt.notification_id,
            "seq": seq,
            "subscription_id": attempt.subscription_id,
            "at": attempt.at,
            "attempts": attempt.attempt,
            "error": attempt.error or "",
            "tries": 0,
            "digest_after": step.digest_after,
        }
        connection.execute(insert(failed).values(**row))


def _after_replay(connection: Connection, step: Transition) -> None:
    attempt = step.attempt
    # A replay that ends after its webhook was replaced finds nothing to change.
    webhook = exists(select(webhooks.c.subscription_id).where(_is_this(step)))
    this = and_(failed.c.notification_id == attempt.notification_id, webhook)
    if step.action == "go on":
        connection.execute(delete(failed).where(this))
        connection.execute(update(webhooks).where(_is_this(step), webhooks.c.failures > 0).values(failures=0))
        return
    values: dict[str, Any] = {"attempts": attempt.attempt, "error": attempt.error or "", "at": attempt.at}
    if step.action == "again":
        values |= {"tries": failed.c.tries + 1, "next_attempt": step.next_attempt}
    else:
        values |= {"tries": 0, "next_attempt": None}
    connection.execute(update(failed).where(this).values(**values))
    if step.action == "refuse":
        gone = {"state": REFUSED, "reason": attempt.error, "since": attempt.at}
        connection.execute(update(webhooks).where(_is_this(step)).values(**gone))
    elif step.action == "park":
        one_more = {"failures": webhooks.c.failures + 1}
        connection.execute(update(webhooks).where(_is_this(step)).values(**one_more))


def _pause_failing(connection: Connection, step: Transition, pause_after: int) -> None:
    is_failing = and_(_is_this(step), webhooks.c.state == CONFIRMED, webhooks.c.failures >= pause_after)
    values = {"state": PAUSED, "reason": step.attempt.error, "since": step.attempt.at}
    connection.execute(update(webhooks).where(is_failing).values(**values))


def _is_this(step: Transition) -> ColumnElement[bool]:
    return and_(webhooks.c.subscription_id == step.attempt.subscription_id, webhooks.c.created == step.created)
