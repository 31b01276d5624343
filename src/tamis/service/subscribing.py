"""Subscriptions as their owners see them: by tenant, with tickets, a time to live and a way of delivery."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import Connection

from tamis.errors import ConditionError, SubscriptionError, TamisError
from tamis.events.event_type import EventType
from tamis.language.condition import compile_condition
from tamis.limits import Limits
from tamis.service.accounts import Accounts, Rights
from tamis.service.credentials import Sealed, new_secret
from tamis.service.names import inside, outside
from tamis.service.problems import Conflict, Forbidden, NotFound, QuotaExceeded
from tamis.service.settings import Settings
from tamis.store import Change, Imported, Store, Stored
from tamis.store.records import DEFAULT_TYPE, now_us

if TYPE_CHECKING:
    from tamis.matcher import Refusal
    from tamis.service.webhooks.queue import Webhooks
    from tamis.service.webhooks.records import Webhook

_INSIDE = re.compile(r"'[a-z0-9][a-z0-9-]{0,62}/")
_FIELDS = ("id", "condition", "event_type", "label", "priority", "valid_from", "expires", "valid_for", "delivery")
_UNREACHABLE = (".", "..", "export")
"""What addresses of subscriptions have other uses for."""
_NEW_US = 60_000_000
_CHANGEABLE = ("condition", "event_type", "label", "priority", "valid_from", "expires")


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A new subscription, and what only its owner is told.

    Attributes:
        subscription: As it is now.
        ticket: What renewing, changing and cancelling need.
        secret: Signs calls of its webhook, if it has one.
    """

    subscription: Stored
    ticket: str
    secret: str | None


@dataclass(frozen=True, slots=True)
class Import:
    """What became of many.

    Attributes:
        imported: The counts, and what was refused.
        tickets: Of those that are new, by id.
    """

    imported: Imported
    tickets: dict[str, str]


class Subscriptions:
    """The subscriptions of all tenants; names are those of the tenant, in and out."""

    def __init__(self, store: Store, accounts: Accounts, webhooks: Webhooks, settings: Settings) -> None:
        self._store = store
        self._accounts = accounts
        self._webhooks = webhooks
        self._settings = settings
        self._one_at_a_time = threading.Lock()

    # --- making ------------------------------------------------------------------------------------------

    def subscribe(self, tenant: str, given: Mapping[str, Any]) -> Subscribed:
        """Make a subscription.

        Raises:
            ConditionError: The condition is refused.
            Conflict: The id is taken.
            NotFound: There is no such event type.
            SubscriptionError: A field is not what it should be.
            WebhookError: The receiver may not be called.
            QuotaExceeded: The tenant has as many as it may.
        """
        record, url = self._record(tenant, given)
        ticket, sealed = new_secret()
        # One at a time, so that nobody else takes the id between the look and the leap.
        with self._one_at_a_time:
            if record["id"] in self._store:
                msg = f"there is already a subscription {outside(record['id'])!r}"
                raise Conflict(msg)
            # The webhook first: what it is told begins before the first match.
            secret = None if url is None else self._add_webhook(record["id"], url)
            try:
                self._add(tenant, [record], {record["id"]: sealed}, replace=False)
            except BaseException:
                if url is not None:
                    self._webhooks.remove(record["id"])
                raise
        return Subscribed(self.get(tenant, outside(record["id"])), ticket, secret)

    def import_many(self, tenant: str, given: Iterable[Mapping[str, Any]], *, replace: bool) -> Import:
        """Make many subscriptions in one change; those that are refused come back. They are pulled, not pushed."""
        records, refusals = [], []
        types: dict[str | None, str] = {}
        for each in given:
            try:
                record, url = self._record(tenant, each, types)
                if url is not None:
                    msg = f"subscription {outside(record['id'])!r}: delivery: an import takes pull only"
                    raise SubscriptionError(msg)
                records.append(record)
            except TamisError as error:
                refusals.append((str(each.get("id") or ""), error))
        made = {record["id"]: new_secret() for record in records}
        with self._one_at_a_time:
            sealed = {id: each for id, (_, each) in made.items()}
            imported, new = self._import(tenant, records, sealed, replace=replace)
        from tamis.matcher import Refusal

        refused = [Refusal(outside(each.id), _named_outside(each.error)) for each in imported.refusals]
        imported = _with_refusals(imported, [*(Refusal(id, error) for id, error in refusals), *refused])
        return Import(imported, {outside(id): made[id][0] for id in new})

    # --- reading -----------------------------------------------------------------------------------------

    def get(self, tenant: str, id: str) -> Stored:
        """One subscription.

        Raises:
            NotFound: There is none of that id.
        """
        with _found(id):
            return _outside(self._store.get(inside(tenant, id)))

    def page(
        self,
        tenant: str,
        *,
        search: str = "",
        label: str | None = None,
        event_type: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> list[Stored]:
        """Subscriptions in the order of their ids; the arguments are those of `Store.list`."""
        found = self._store.list(
            owner=tenant,
            prefix=inside(tenant, ""),
            search=search,
            label=label,
            event_type=None if event_type is None else inside(tenant, event_type),
            after=inside(tenant, after) if after else "",
            limit=limit,
        )
        return [_outside(each) for each in found]

    def count(self, tenant: str) -> int:
        """How many a tenant has."""
        with self._store.view() as view:
            return view.count(owner=tenant)

    def history(self, tenant: str, id: str) -> list[Change]:
        """Every change of one, the oldest first."""
        changes = self._store.history(inside(tenant, id))
        return [replace(each, id=outside(each.id), event_type=outside(each.event_type)) for each in changes]

    def webhook(self, tenant: str, id: str) -> Webhook | None:
        """Where it is delivered to, if anywhere."""
        return self._webhooks.get(inside(tenant, id))

    def ended_webhooks(self) -> list[str]:
        """The webhooks, as called inside, of subscriptions that are no longer there."""
        # A webhook is made before its subscription: one that is new may be waiting for it.
        old = now_us() - _NEW_US
        ids = [each.subscription_id for each in self._webhooks.list() if each.created < old]
        with self._store.view() as view:
            there = view.rows(ids)
        return [id for id in ids if id not in there or not there[id].living]

    # --- changing ----------------------------------------------------------------------------------------

    def check_ticket(self, tenant: str, id: str, ticket: str | None) -> None:
        """Refuse whoever does not hold the ticket.

        Raises:
            NotFound: There is no such subscription.
            Forbidden: The ticket is missing or that of another.
        """
        self.get(tenant, id)
        if not ticket or not self._accounts.is_ticket_of(inside(tenant, id), ticket):
            what = "is missing" if not ticket else "is not that of the subscription"
            msg = f"the ticket of subscription {id!r} {what}; it was told when it was made"
            raise Forbidden(msg)

    def change(self, tenant: str, id: str, fields: Mapping[str, Any]) -> Stored:
        """Change some fields of a subscription."""
        for name in fields:
            if name not in _CHANGEABLE:
                msg = f"subscription {id!r}: {name} cannot be changed; expected some of {', '.join(_CHANGEABLE)}"
                raise SubscriptionError(msg)
        wanted = dict(fields)
        if "event_type" in wanted:
            wanted["event_type"] = self._type_inside(tenant, wanted["event_type"])
        if wanted.get("valid_from") is not None:
            wanted["valid_from"] = _time(id, "valid_from", wanted["valid_from"])
        if "expires" in wanted:
            wanted["expires"] = self._expiry(id, expires=wanted["expires"])
        with _found(id):
            self._limited(tenant).replace(inside(tenant, id), **wanted)
        return self.get(tenant, id)

    def renew(
        self, tenant: str, id: str, *, valid_for: float | None = None, expires: datetime | None = None
    ) -> Stored:
        """Let a subscription last longer, or less long; as long as a new one if nothing is said."""
        with _found(id):
            self._store.renew(inside(tenant, id), self._expiry(id, valid_for=valid_for, expires=expires))
        return self.get(tenant, id)

    def pause(self, tenant: str, id: str, *, paused: bool) -> Stored:
        """Leave a subscription out of matching, or take it in again."""
        with _found(id):
            self._store.pause(inside(tenant, id), paused=paused)
        return self.get(tenant, id)

    def unsubscribe(self, tenant: str, id: str) -> None:
        """Remove a subscription."""
        name = inside(tenant, id)
        with _found(id):
            self._store.remove(name)
        self._webhooks.remove(name)
        self._accounts.forget_tickets([name])

    def prepare(self, tenant: str) -> None:
        """Declare the schemaless type of a tenant, so that its events have a place before its subscriptions."""
        self._type_inside(tenant, None)

    # --- event types -------------------------------------------------------------------------------------

    def event_types(self, tenant: str) -> dict[str, EventType]:
        """The declared event types of a tenant, by name."""
        prefix = inside(tenant, "")
        declared = self._store.event_types()
        return {
            outside(name): replace(each, name=outside(name))
            for name, each in declared.items()
            if name.startswith(prefix)
        }

    def event_type(self, tenant: str, name: str | None) -> EventType:
        """An event type of a tenant, as it is called inside; the schemaless one needs no declaration.

        Raises:
            NotFound: There is no such type.
        """
        called = inside(tenant, name or DEFAULT_TYPE)
        found = self._store.event_types().get(called)
        if found is None and (name or DEFAULT_TYPE) != DEFAULT_TYPE:
            known = ", ".join(sorted({*self.event_types(tenant), DEFAULT_TYPE}))
            msg = f"there is no event type {name!r}; declared are {known}"
            raise NotFound(msg)
        return found or EventType(called)

    def declare(self, tenant: str, event_type: EventType, *, dry_run: bool) -> list[Refusal]:
        """Declare or change an event type; gives what it refuses, or would refuse."""
        from tamis.matcher import Refusal

        named = replace(event_type, name=inside(tenant, event_type.name))
        if not dry_run:
            self._store.set_event_type(named)
        found = []
        with self._store.view() as view:
            rows = view.of_type(named.name)
        for row in rows:
            if not dry_run and row.refusal is None:
                continue
            try:
                compile_condition(row.condition, named, self._store.limits)
            except ConditionError as error:
                found.append(Refusal(outside(row.id), error))
        return found

    def limits(self, tenant: str) -> Limits:
        """What the conditions of a tenant may ask for."""
        rights = self._accounts.rights(tenant) or Rights()
        allowed = None if rights.operators is None else frozenset(rights.operators)
        return replace(self._store.limits, operators=allowed) if allowed is not None else self._store.limits

    # --- inside ------------------------------------------------------------------------------------------

    def _record(
        self, tenant: str, given: Mapping[str, Any], types: dict[str | None, str] | None = None
    ) -> tuple[dict[str, Any], str | None]:
        """What the store takes, and the receiver of the webhook, if there is one; `types`: those seen before."""
        for name in given:
            if name not in _FIELDS:
                msg = f"there is no field {name!r}; a subscription has {', '.join(_FIELDS)}"
                raise SubscriptionError(msg)
        id = given.get("id")
        if id is not None and (not isinstance(id, str) or not id or "/" in id):
            msg = f"id: expected a text without /, found {id!r}"
            raise SubscriptionError(msg)
        if id in _UNREACHABLE:
            msg = f"id: {id!r} cannot be part of an address"
            raise SubscriptionError(msg)
        id = id or f"s-{uuid4().hex}"
        record = {name: given.get(name) for name in ("condition", "label", "priority", "valid_from")}
        if record["valid_from"] is not None:
            record["valid_from"] = _time(id, "valid_from", record["valid_from"])
        expires = self._expiry(
            id,
            valid_for=given.get("valid_for"),
            expires=given.get("expires"),
            valid_from=given.get("valid_from"),
        )
        event_type = self._type_inside(tenant, given.get("event_type"), types)
        record |= {"id": inside(tenant, id), "owner": tenant, "event_type": event_type, "expires": expires}
        return record, _receiver(id, given.get("delivery"))

    def _type_inside(self, tenant: str, name: Any, types: dict[str | None, str] | None = None) -> str:
        if name is not None and not isinstance(name, str):
            msg = f"event_type: expected a text, found {name!r}"
            raise SubscriptionError(msg)
        if types is not None and name in types:  # an import asks the store once, not for each of its lines
            return types[name]
        event_type = self.event_type(tenant, name)
        if event_type.is_schemaless and event_type.name not in self._store.event_types():
            self._store.set_event_type(event_type)
        if types is not None:
            types[name] = event_type.name
        return event_type.name

    def _expiry(self, id: str, *, valid_for: Any = None, expires: Any = None, valid_from: Any = None) -> datetime:
        """When a subscription ends."""
        settings, now = self._settings, datetime.now(UTC)
        longest = now + timedelta(seconds=settings.longest_validity_seconds)
        if expires is not None:
            until = _time(id, "expires", expires)
        else:
            seconds = settings.validity_seconds if valid_for is None else valid_for
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
                msg = f"subscription {id!r}: valid_for: expected a number of seconds above 0, found {seconds!r}"
                raise SubscriptionError(msg)
            begin = now if valid_from is None else max(now, _time(id, "valid_from", valid_from))
            try:
                until = begin + timedelta(seconds=seconds)
            except OverflowError:
                until = datetime.max.replace(tzinfo=UTC)
        if until > longest:
            most = settings.longest_validity_seconds
            msg = f"subscription {id!r}: it may last for at most {most:,} seconds, until {longest:%Y-%m-%dT%H:%MZ}"
            raise SubscriptionError(msg)
        return until

    def _add_webhook(self, id: str, url: str) -> str:
        from tamis.service.webhooks.records import WebhookError

        try:
            return self._webhooks.add(id, url)
        except WebhookError as error:
            raise WebhookError(_INSIDE.sub("'", str(error), count=1)) from error

    def _limited(self, tenant: str) -> Store:
        """The store, with what the tenant's conditions may ask for."""
        return self._store.limited(self.limits(tenant))

    def _add(
        self, tenant: str, records: list[dict[str, Any]], sealed: Mapping[str, Sealed], *, replace: bool
    ) -> None:
        imported, _ = self._import(tenant, records, sealed, replace=replace)
        for refusal in imported.refusals:
            raise _named_outside(refusal.error)

    def _import(
        self, tenant: str, records: list[dict[str, Any]], sealed: Mapping[str, Sealed], *, replace: bool
    ) -> tuple[Imported, list[str]]:
        """Write subscriptions and their tickets in one transaction; gives the ids that are new, too."""
        rights = self._accounts.rights(tenant) or Rights()
        if rights.subscriptions is not None:
            have = self.count(tenant)
            with self._store.view() as view:
                there = view.rows([record["id"] for record in records])
            known = {id for id, row in there.items() if row.living}
            if have + len({record["id"] for record in records} - known) > rights.subscriptions:
                msg = f"tenant {tenant!r} may have {rights.subscriptions:,} subscriptions, and has {have:,}"
                raise QuotaExceeded(msg)
        new: list[str] = []

        def write(connection: Connection, ids: list[str]) -> None:
            new.extend(ids)
            Accounts.write_tickets(connection, {id: sealed[id] for id in ids})

        return self._limited(tenant).add_many(records, replace=replace, alongside=write), new


def _receiver(id: str, delivery: Any) -> str | None:
    """The URL of a webhook, None for what is pulled."""
    if delivery is None:
        return None
    if not isinstance(delivery, Mapping) or delivery.get("kind") not in ("pull", "webhook"):
        msg = f"subscription {id!r}: delivery: expected a kind of pull or webhook, found {delivery!r}"
        raise SubscriptionError(msg)
    url = delivery.get("url")
    if delivery["kind"] == "pull":
        return None
    if not isinstance(url, str) or not url:
        msg = f"subscription {id!r}: delivery.url: expected the URL of the receiver, found {url!r}"
        raise SubscriptionError(msg)
    return url


def _time(id: str, key: str, value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = repr(value)
    if not isinstance(value, datetime):
        msg = f"subscription {id!r}: {key}: expected a time, as 2026-07-01T12:00:00Z, found {value}"
        raise SubscriptionError(msg)
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        msg = f"subscription {id!r}: {key}: expected a time of the years 1 to 9999 in UTC, found {value}"
        raise SubscriptionError(msg) from error


@contextmanager
def _found(id: str) -> Iterator[None]:
    """Say what is missing as its owner calls it."""
    try:
        yield
    except SubscriptionError as error:
        if str(error).startswith("there is no subscription"):
            _, mark, why = str(error).partition(";")
            msg = f"there is no subscription {id!r}{mark}{why}"
            raise NotFound(msg) from error
        raise _named_outside(error) from error


def _named_outside(error: TamisError) -> TamisError:
    """The error, with what it names called as its owner does."""
    if isinstance(error, SubscriptionError):
        return SubscriptionError(_INSIDE.sub("'", str(error), count=1))
    return error


def _with_refusals(imported: Imported, refusals: list[Refusal]) -> Imported:
    return replace(imported, refusals=refusals)


def _outside(stored: Stored) -> Stored:
    return replace(stored, id=outside(stored.id), event_type=outside(stored.event_type), owner=None)
