"""What an attempt changes, in one transaction with the record of it.

A change names the webhook by its subscription and its creation time: a webhook that was removed or replaced during
the call is not changed. A cursor never goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, func, insert, or_, select, update
from sqlalchemy.sql import ColumnElement

from tamis.service.webhooks.records import Transition
from tamis.service.webhooks.settings import NEVER, PauseRule
from tamis.service.webhooks.tables import CONFIRMED, PAUSED, PENDING, REFUSED, attempts, failed, webhooks

_SECOND = 1_000_000
_NO_FAILURES: dict[str, Any] = {"failures": 0, "failed_calls": 0, "failing_since": None}


def record_transitions(connection: Connection, steps: Sequence[Transition], pause: PauseRule = NEVER) -> None:
    """Note attempts and what follows from them; a webhook whose calls fail as the rule says is paused.

    A step whose notification was passed meanwhile is on record only, and counts as no failed call. The steps are
    taken in the order of their subscriptions, so that two who record never wait for each other in a circle.
    """
    if not steps:
        return
    connection.execute(insert(attempts), [asdict(step.attempt) for step in steps])
    for step in sorted(steps, key=lambda step: step.attempt.subscription_id):
        if step.seq is None:
            _after_handshake(connection, step)
            continue
        follow = _after_replay if step.is_replay else _after_notification
        if follow(connection, step) and step.action in ("again", "park"):
            _count_failed_call(connection, step)
            _pause_failing(connection, step, pause)


def _after_handshake(connection: Connection, step: Transition) -> None:
    attempt = step.attempt
    state = CONFIRMED if step.action == "confirm" else REFUSED
    values = {"state": state, "reason": attempt.error, "since": attempt.at, **_NO_FAILURES}
    connection.execute(update(webhooks).where(_is_this(step), webhooks.c.state == PENDING).values(**values))


def _after_notification(connection: Connection, step: Transition) -> bool:
    """Move the webhook; is its cursor still before the notification?"""
    attempt, seq = step.attempt, step.seq
    here = and_(_is_this(step), webhooks.c.cursor < seq)
    if step.action == "again":
        later = {"attempts": attempt.attempt, "next_attempt": step.next_attempt}
        return connection.execute(update(webhooks).where(here).values(**later)).rowcount > 0
    values: dict[str, Any] = {"cursor": seq, "attempts": 0, "next_attempt": step.next_attempt, "digest_upto": None}
    if step.action == "refuse":
        values |= {"state": REFUSED, "reason": attempt.error, "since": attempt.at, "failures": 0}
    elif step.action == "park":
        values |= {"failures": webhooks.c.failures + 1}
    else:
        values |= _NO_FAILURES
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
    return moved > 0


def _after_replay(connection: Connection, step: Transition) -> bool:
    """Change what is parked, and the webhook; is it still parked?"""
    attempt = step.attempt
    # A replay that ends after its webhook was replaced finds nothing to change.
    webhook = exists(select(webhooks.c.subscription_id).where(_is_this(step)))
    this = and_(failed.c.notification_id == attempt.notification_id, webhook)
    if step.action == "go on":
        connection.execute(delete(failed).where(this))
        failing = or_(webhooks.c.failures > 0, webhooks.c.failed_calls > 0)
        connection.execute(update(webhooks).where(_is_this(step), failing).values(**_NO_FAILURES))
        return True
    values: dict[str, Any] = {"attempts": attempt.attempt, "error": attempt.error or "", "at": attempt.at}
    if step.action == "again":
        values |= {"tries": failed.c.tries + 1, "next_attempt": step.next_attempt}
    else:
        values |= {"tries": 0, "next_attempt": None}
    still_parked = connection.execute(update(failed).where(this).values(**values)).rowcount > 0
    if step.action == "refuse":
        gone = {"state": REFUSED, "reason": attempt.error, "since": attempt.at}
        connection.execute(update(webhooks).where(_is_this(step)).values(**gone))
    elif step.action == "park" and still_parked:
        one_more = {"failures": webhooks.c.failures + 1}
        connection.execute(update(webhooks).where(_is_this(step)).values(**one_more))
    return still_parked


def _count_failed_call(connection: Connection, step: Transition) -> None:
    since = func.coalesce(webhooks.c.failing_since, step.attempt.at)
    one_more = {"failed_calls": webhooks.c.failed_calls + 1, "failing_since": since}
    connection.execute(update(webhooks).where(_is_this(step)).values(**one_more))


def _pause_failing(connection: Connection, step: Transition, rule: PauseRule) -> None:
    which = []
    if rule.parked and step.action == "park":
        which.append(webhooks.c.failures >= rule.parked)
    if rule.calls:
        began = step.attempt.at - int(rule.seconds * _SECOND)
        which.append(and_(webhooks.c.failed_calls >= rule.calls, webhooks.c.failing_since <= began))
    if which:
        is_failing = and_(_is_this(step), webhooks.c.state == CONFIRMED, or_(*which))
        values = {"state": PAUSED, "reason": step.attempt.error, "since": step.attempt.at}
        connection.execute(update(webhooks).where(is_failing).values(**values))


def _is_this(step: Transition) -> ColumnElement[bool]:
    return and_(webhooks.c.subscription_id == step.attempt.subscription_id, webhooks.c.created == step.created)
