"""What webhooks have yet to do, and what became of notifications; read only.

Every answer is of one state of the database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, and_, func, select

from tamis.service.webhooks.messages import iso
from tamis.service.webhooks.records import DeliveryState, NotificationDelivery, Webhook, WebhookStatus
from tamis.service.webhooks.tables import (
    CONFIRMED,
    PAUSED,
    PENDING,
    REFUSED,
    STATES,
    attempts,
    failed,
    feed,
    of_tenant,
    webhooks,
)
from tamis.sql.database import Database
from tamis.sql.rows import rows_by_key

WEBHOOK_COLUMNS = [webhooks.c[name] for name in Webhook.__dataclass_fields__]
_STOPPED: dict[str, DeliveryState] = {PENDING: "pending", PAUSED: "paused", REFUSED: "refused"}
_WAITING = (
    select(func.count())
    .select_from(feed)
    .where(feed.c.subscription_id == webhooks.c.subscription_id, feed.c.seq > webhooks.c.cursor)
    .correlate(webhooks)
    .scalar_subquery()
)
"""How many notifications of a webhook are neither delivered nor parked; webhook by webhook, so by an index."""


def count_deliveries(database: Database, *, tenant: str | None = None) -> dict[str, int]:
    """How many webhooks there are by state, and how many deliveries are not done.

    `waiting`: they have their turn to come; `retrying`: of these, the last call failed; `withheld`: the webhook is
    paused or refused; `failed`: parked after all attempts; `replaying`: of these, to be tried again.
    """
    mine = of_tenant(webhooks.c.subscription_id, tenant)
    parked_mine = of_tenant(failed.c.subscription_id, tenant)
    by_state = select(webhooks.c.state, func.count()).where(*mine).group_by(webhooks.c.state)
    undone = select(webhooks.c.state, func.sum(_WAITING)).where(*mine).group_by(webhooks.c.state)
    is_retried = and_(webhooks.c.state == CONFIRMED, webhooks.c.attempts > 0)
    with database.reading() as connection:
        states = {state: number for state, number in connection.execute(by_state)}
        behind = {state: int(number) for state, number in connection.execute(undone)}
        retried = select(func.count()).select_from(webhooks).where(is_retried, *mine)
        parked = select(func.count(), func.count(failed.c.next_attempt)).where(*parked_mine)
        retrying = connection.execute(retried).scalar_one()
        total, replaying = connection.execute(parked.select_from(failed)).one()
    return {
        **{state: states.get(state, 0) for state in STATES},
        "waiting": behind.get(PENDING, 0) + behind.get(CONFIRMED, 0),
        "retrying": retrying,
        "withheld": behind.get(PAUSED, 0) + behind.get(REFUSED, 0),
        "failed": total,
        "replaying": replaying,
    }


def webhook_statuses(
    database: Database,
    *,
    tenant: str | None = None,
    subscription_id: str | None = None,
    state: str | None = None,
    after: str = "",
    limit: int | None = None,
) -> list[WebhookStatus]:
    """Webhooks in the order of their subscriptions' ids, which come after `after`, with what they have to do."""
    parked = (
        select(func.count())
        .select_from(failed)
        .where(failed.c.subscription_id == webhooks.c.subscription_id)
        .correlate(webhooks)
        .scalar_subquery()
    )
    id = webhooks.c.subscription_id
    query = select(_WAITING, parked, *WEBHOOK_COLUMNS).where(id > after, *of_tenant(id, tenant))
    if subscription_id is not None:
        query = query.where(id == subscription_id)
    if state is not None:
        query = query.where(webhooks.c.state == state)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(id).limit(limit)).all()
    return [WebhookStatus(Webhook(*rest), behind, failures) for behind, failures, *rest in rows]


def notification_deliveries(
    database: Database, notifications: Sequence[tuple[str, str, int]]
) -> dict[str, NotificationDelivery]:
    """What became of notifications, given as id, qualified subscription id and number; by their ids."""
    with database.reading() as connection:
        hooks = _webhooks(connection, {subscription_id for _, subscription_id, _ in notifications})
        key, ids = "notification_id", [id for id, _, _ in notifications]
        parked = {
            id: NotificationDelivery("failed" if next_attempt is None else "replaying", error)
            for id, error, next_attempt in rows_by_key(
                connection, failed, (key, "error", "next_attempt"), key, ids
            )
        }
        calls = sorted(rows_by_key(connection, attempts, ("number", key, "outcome", "error"), key, ids))
        last = {id: (outcome, error) for _, id, outcome, error in calls}
    return {
        id: parked.get(id) or _delivery(hooks.get(subscription_id), seq, *last.get(id, (None, None)))
        for id, subscription_id, seq in notifications
    }


def _webhooks(connection: Connection, subscription_ids: Collection[str]) -> dict[str, Webhook]:
    columns = [column.name for column in WEBHOOK_COLUMNS]
    rows = rows_by_key(connection, webhooks, columns, "subscription_id", [*subscription_ids])
    return {webhook.subscription_id: webhook for webhook in (Webhook(*row) for row in rows)}


def _delivery(webhook: Webhook | None, seq: int, outcome: str | None, error: str | None) -> NotificationDelivery:
    """Of a notification that is not parked, with what came of its last call."""
    if outcome == "delivered":
        return NotificationDelivery("delivered")
    if webhook is None:
        return NotificationDelivery("pull")
    if seq <= webhook.cursor:
        return NotificationDelivery("unrecorded")
    if webhook.state == CONFIRMED:
        return NotificationDelivery("waiting" if outcome is None else "retrying", error)
    return NotificationDelivery(_STOPPED[webhook.state], f"not delivered: {describe_stop(webhook)}")


def describe_stop(webhook: Webhook) -> str:
    """Why a webhook that is not confirmed is not called."""
    since = "" if webhook.since is None else f" since {iso(webhook.since)}"
    why = "" if webhook.reason is None else f": {webhook.reason}"  # of a webhook that was restored it is not known
    if webhook.state == PENDING:
        return "the endpoint has not agreed yet"
    if webhook.state == PAUSED:
        count = ""
        if webhook.failures:
            count = f", after {webhook.failures} failed deliveries in a row"
        elif webhook.failed_calls:
            count = f", after {webhook.failed_calls} failed calls in a row"
        return f"the endpoint is paused{since}{count}{why}"
    return f"the endpoint refused consent{why}"
