"""Subscriptions of tenants: local names, tickets, validity and delivery on top of the store."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection

from tamis.errors import SubscriptionError, TamisError
from tamis.events.event_type import EventType
from tamis.limits import Limits
from tamis.segments.fields import unknown_field
from tamis.service.accounts import Accounts, TenantRights
from tamis.service.credentials import Sealed, new_secret
from tamis.service.errors import Conflict, Forbidden, NotFound, QuotaExceeded
from tamis.service.names import (
    SUBSCRIBER,
    link_of,
    local_name,
    own_name,
    qualified_name,
    subscriber_address,
    subscriber_of,
)
from tamis.service.settings import ServiceSettings
from tamis.store import ChangeLogEntry, ImportResult, Store, StoredSubscription
from tamis.store.records import DEFAULT_TYPE, now_us
from tamis.store.transitions import condition_errors, default_type

if TYPE_CHECKING:
    from tamis.matcher import Refusal
    from tamis.service.webhooks.queue import Webhooks
    from tamis.service.webhooks.records import Webhook

_GIVEN = ("condition", "dialect", "label", "priority", "valid_from", "state")
_FIELDS = ("id", *_GIVEN, "event_type", "expires", "valid_for", "delivery", "subscriber")
_UNREACHABLE = (".", "..", "export")
"""What addresses of subscriptions have other uses for."""
_SHOWN_CHARACTERS = 1_000
"""Of a condition that goes with each of its notifications."""
_NEW_US = 60_000_000
_CHANGEABLE = ("condition", "dialect", "event_type", "label", "priority", "valid_from", "expires", "subscriber")


@dataclass(frozen=True, slots=True)
class SubscriptionReceipt:
    """A new subscription with the secrets that are shown once.

    Attributes:
        subscription: As it is now.
        ticket: What renewing, changing and cancelling need.
        secret: Signs calls of its webhook, if it has one.
    """

    subscription: StoredSubscription
    ticket: str
    secret: str | None


@dataclass(frozen=True, slots=True)
class ImportReceipt:
    """The result of an import.

    Attributes:
        imported: The counts, and what was refused.
        tickets: Of those that are new, by id.
        secrets: That sign the calls of webhooks that are new, by id.
    """

    imported: ImportResult
    tickets: dict[str, str]
    secrets: dict[str, str]


class TenantSubscriptions:
    """The subscriptions of all tenants; names are those of the tenant, in and out."""

    def __init__(self, store: Store, accounts: Accounts, webhooks: Webhooks, settings: ServiceSettings) -> None:
        self._store = store
        self._accounts = accounts
        self._webhooks = webhooks
        self._settings = settings
        self._one_at_a_time = threading.Lock()

    def acting_as(self, actor: str) -> TenantSubscriptions:
        """The same subscriptions, whose history says who changed them."""
        same = copy(self)
        same._store = self._store.acting_as(actor)
        return same

    # --- making ------------------------------------------------------------------------------------------

    def subscribe(self, tenant: str, given: Mapping[str, Any]) -> SubscriptionReceipt:
        """Make a subscription.

        Raises:
            ConditionError: The condition is refused.
            Conflict: The id is taken.
            NotFound: There is no such event type.
            SubscriptionError: A field is not what it should be.
            WebhookError: The receiver may not be called.
            QuotaExceeded: The tenant has as many as it may.
        """
        record, receiver = self._record(tenant, given)
        ticket, sealed = new_secret()
        # One at a time: no other request takes the id between the check and the insert.
        with self._one_at_a_time:
            if record["id"] in self._store:
                msg = f"there is already a subscription {local_name(record['id'])!r}"
                raise Conflict(msg)
            # The webhook first, so that it gets the very first match.
            secret = None if receiver is None else self._add_webhook(record["id"], receiver)
            try:
                self._add(tenant, [record], {record["id"]: sealed}, replace=False)
            except BaseException:
                if receiver is not None:
                    self._webhooks.remove(record["id"])
                raise
        return SubscriptionReceipt(self.get(tenant, local_name(record["id"])), ticket, secret)

    def import_many(self, tenant: str, given: Iterable[Mapping[str, Any]], *, replace: bool) -> ImportReceipt:
        """Make many subscriptions in one change; those that are refused come back."""
        from tamis.matcher import Refusal

        given = self._with_own_types(tenant, [*given]) if replace else given
        types: dict[str | None, str] = {}
        records, refusals = [], []
        receivers: dict[str, Receiver | None] = {}
        for each in given:
            try:
                record, receiver = self._record(tenant, each, types)
            except TamisError as error:
                refusals.append(Refusal(str(each.get("id") or ""), error))
                continue
            records.append(record)
            if each.get("delivery") is not None:
                receivers[record["id"]] = receiver
        made = {record["id"]: new_secret() for record in records}
        sealed = {id: each for id, (_, each) in made.items()}
        with self._one_at_a_time:
            there = self._living(receivers)
            new_receivers = {id: each for id, each in receivers.items() if each is not None and id not in there}
            with self._webhooks_of_import(new_receivers, refusals) as secrets:
                refused = new_receivers.keys() - secrets.keys()
                wanted = [record for record in records if record["id"] not in refused]
                imported, new = self._import(tenant, wanted, sealed, replace=replace)
                for id in secrets.keys() - {*new}:
                    self._webhooks.remove(id)
                    del secrets[id]
            if replace:
                unchanged = {each.id for each in imported.refusals}
                secrets |= self._redirect({id: receivers[id] for id in there - unchanged}, refusals)
        refusals += [Refusal(local_name(each.id), _error_for(tenant, each.error)) for each in imported.refusals]
        return ImportReceipt(
            dataclasses.replace(
                imported,
                refusals=refusals,
                by_type={local_name(name): count for name, count in imported.by_type.items()},
            ),
            {local_name(id): made[id][0] for id in new},
            {local_name(id): secret for id, secret in secrets.items()},
        )

    # --- reading -----------------------------------------------------------------------------------------

    def get(self, tenant: str, id: str) -> StoredSubscription:
        """One subscription.

        Raises:
            NotFound: There is none of that id.
        """
        with _errors_for(tenant):
            return _for_tenant(self._store.get(qualified_name(tenant, id)))

    def page(
        self,
        tenant: str,
        *,
        search: str = "",
        label: str | None = None,
        event_type: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> list[StoredSubscription]:
        """Subscriptions in the order of their ids; the arguments are those of `Store.list`."""
        found = self._store.list(
            prefix=qualified_name(tenant, ""),
            search=search,
            label=label,
            event_type=None if event_type is None else qualified_name(tenant, event_type),
            after=qualified_name(tenant, after) if after else "",
            limit=limit,
        )
        return [_for_tenant(each) for each in found]

    def count(self, tenant: str, *, event_type: str | None = None, refused: bool = False) -> int:
        """How many a tenant has, of an event type and refused by it if so wanted."""
        of_type = None if event_type is None else qualified_name(tenant, event_type)
        with self._store.view() as view:
            return view.count(prefix=qualified_name(tenant, ""), event_type=of_type, refused=refused)

    def total(self) -> int:
        """How many all tenants have; entries of neighbours are nobody's."""
        with self._store.view() as view:
            return sum(view.count(prefix=qualified_name(tenant, "")) for tenant in self._accounts.tenants())

    def active(self, tenant: str, event_type: str, *, limit: int) -> list[tuple[str, StoredSubscription]]:
        """The subscriptions that are matched with events of a type, under its qualified name, by their ids.

        Raises:
            QuotaExceeded: There are more than `limit`.
        """
        with self._store.view() as view:
            found = view.subscriptions(event_type=event_type, limit=limit + 1)
            rows = [(local_name(each.id), each) for each in found]
        if len(rows) > limit:
            msg = f"there are more than {limit:,} subscriptions to {local_name(event_type)!r}"
            raise QuotaExceeded(msg)
        return [(id, each) for id, each in rows if each.state == "active" and each.refusal is None]

    def history(self, tenant: str, id: str) -> list[ChangeLogEntry]:
        """Every change of one, the oldest first."""
        changes = self._store.history(qualified_name(tenant, id))
        return [replace(each, id=local_name(each.id), event_type=local_name(each.event_type)) for each in changes]

    def conditions_at(
        self, tenant: str, revisions: Iterable[tuple[str, int]]
    ) -> dict[tuple[str, int], tuple[str | None, str]]:
        """Label and condition of revisions, by id and revision, as far as they are kept; long ones are cut."""
        with self._store.view() as view:
            found = view.conditions_at((qualified_name(tenant, id), revision) for id, revision in revisions)
        return {
            (local_name(id), revision): (label, _cut(condition))
            for (id, revision), (label, condition) in found.items()
        }

    def webhook(self, tenant: str, id: str) -> Webhook | None:
        """Where it is delivered to, if anywhere."""
        return self._webhooks.get(qualified_name(tenant, id))

    def deliver_to(self, tenant: str, id: str, url: str, digest_seconds: float | None = None) -> str:
        """Deliver the messages of a subscriber, `@` and its name, from now on; gives the secret of the webhook.

        Raises:
            WebhookError: The receiver may not be called.
        """
        return self._add_webhook(qualified_name(tenant, id), Receiver(url, digest_seconds))

    def resume_webhook(self, tenant: str, id: str) -> None:
        """Shake hands again with the receiver of a webhook that is paused or refused.

        Raises:
            WebhookError: There is no such webhook, or it is neither paused nor refused.
        """
        with _webhook_errors():
            self._webhooks.resume(qualified_name(tenant, id))

    def ended_webhooks(self) -> list[str]:
        """The qualified ids of webhooks whose subscriptions have ended."""
        # A webhook is made before its subscription: one that is new may be waiting for it.
        old = now_us() - _NEW_US
        ids = [
            each.subscription_id
            for each in self._webhooks.list()
            if each.created < old and subscriber_of(each.subscription_id) is None
        ]
        with self._store.view() as view:
            there = view.rows(ids)
        return [id for id in ids if id not in there or not there[id].living]

    # --- changing ----------------------------------------------------------------------------------------

    def check_ticket(self, tenant: str, id: str, ticket: str | None) -> None:
        """Refuse a caller without the ticket.

        Raises:
            NotFound: There is no such subscription.
            Forbidden: The ticket is missing or that of another.
        """
        self.get(tenant, id)
        if not ticket or not self._accounts.is_ticket_of(qualified_name(tenant, id), ticket):
            what = "is missing" if not ticket else "is not that of the subscription"
            msg = f"the ticket of subscription {id!r} {what}; subscribing returned it"
            raise Forbidden(msg)

    def change(self, tenant: str, id: str, fields: Mapping[str, Any]) -> StoredSubscription:
        """Change some fields of a subscription."""
        for name in fields:
            if name not in _CHANGEABLE:
                msg = f"{name} cannot be changed; expected some of {', '.join(_CHANGEABLE)}"
                raise SubscriptionError(msg, id=id)
        wanted = dict(fields)
        if "event_type" in wanted:
            wanted["event_type"] = self._type_inside(tenant, wanted["event_type"])
        if "subscriber" in wanted:
            wanted["owner"] = _owner(tenant, wanted.pop("subscriber"))
        if wanted.get("valid_from") is not None:
            wanted["valid_from"] = _time(id, "valid_from", wanted["valid_from"])
        if "expires" in wanted:
            wanted["expires"] = self._expiry(id, expires=wanted["expires"])
        with _errors_for(tenant):
            self._limited_store(tenant).replace(qualified_name(tenant, id), **wanted)
        return self.get(tenant, id)

    def renew(
        self, tenant: str, id: str, *, valid_for: float | None = None, expires: datetime | None = None
    ) -> StoredSubscription:
        """Let a subscription last longer, or less long; as long as a new one if nothing is said."""
        until = self._expiry(id, valid_for=valid_for, expires=expires)
        with _errors_for(tenant):
            self._store.renew(qualified_name(tenant, id), until)
        return self.get(tenant, id)

    def pause(self, tenant: str, id: str, *, paused: bool) -> StoredSubscription:
        """Leave a subscription out of matching, or take it in again."""
        with _errors_for(tenant):
            self._store.pause(qualified_name(tenant, id), paused=paused)
        return self.get(tenant, id)

    def unsubscribe(self, tenant: str, id: str) -> None:
        """Remove a subscription, its webhook and its ticket."""
        name = qualified_name(tenant, id)
        with _errors_for(tenant):
            self._store.remove(name)
        self._webhooks.remove(name)
        self._accounts.forget_tickets([name])

    def prepare(self, tenant: str) -> None:
        """Declare the schemaless type of a tenant, so that its events have a place before its subscriptions."""
        self._type_inside(tenant, DEFAULT_TYPE)

    # --- event types -------------------------------------------------------------------------------------

    def event_types(self, tenant: str) -> dict[str, EventType]:
        """The declared event types of a tenant, by name."""
        prefix = qualified_name(tenant, "")
        declared = self._store.event_types()
        return {
            local_name(name): replace(each, name=local_name(name))
            for name, each in declared.items()
            if name.startswith(prefix)
        }

    def default_type(self, tenant: str) -> str:
        """The type of events and subscriptions that name none: the only one that is declared, else `event`."""
        return default_type(self.event_types(tenant))

    def event_type(self, tenant: str, name: str | None) -> EventType:
        """An event type of a tenant, under its qualified name; the schemaless one needs no declaration.

        Without a name, it is the default of the tenant.

        Raises:
            NotFound: There is no such type.
        """
        types = self.event_types(tenant)
        name = name or default_type(types)
        if name not in types and name != DEFAULT_TYPE:
            msg = f"there is no event type {name!r}; declared are {', '.join(sorted({*types, DEFAULT_TYPE}))}"
            raise NotFound(msg)
        called = qualified_name(tenant, name)
        return replace(types[name], name=called) if name in types else EventType(called)

    def declare(self, tenant: str, event_type: EventType, *, dry_run: bool) -> list[Refusal]:
        """Declare or change an event type; gives what it refuses, or would refuse."""
        from tamis.matcher import Refusal

        named = replace(event_type, name=qualified_name(tenant, event_type.name))
        if not dry_run:
            self._store.set_event_type(named)
        found = []
        with self._store.view() as view:
            rows = view.of_type(named.name)
        for row in rows:
            if (not dry_run and row.refusal is None) or link_of(row.id) is not None:
                continue
            errors = condition_errors([row], named, self._store.limits)
            found += [Refusal(local_name(row.id), error) for error in errors.values()]
        return found

    def drop_event_type(self, tenant: str, name: str) -> None:
        """Forget an event type that nothing of the tenant needs; events of it that come later are dead letters.

        Raises:
            NotFound: There is no such type.
            Conflict: It has living subscriptions or advertisements, or is the schemaless one.
        """
        if name == DEFAULT_TYPE:  # without it, events that name no type would have no place
            msg = f"the schemaless event type {name!r} is always there"
            raise Conflict(msg)
        called = qualified_name(tenant, name)
        advertised = [each for each in self._accounts.advertisements(tenant) if each.event_type == called]
        if advertised:
            msg = f"event type {name!r} has the advertisement {local_name(advertised[0].id)!r}; withdraw it first"
            raise Conflict(msg)
        with _errors_for(tenant):
            self._store.drop_event_type(called)

    def limits(self, tenant: str) -> Limits:
        """What the conditions of a tenant may ask for."""
        rights = self._accounts.rights(tenant) or TenantRights()
        allowed = None if rights.operators is None else frozenset(rights.operators)
        return replace(self._store.limits, operators=allowed) if allowed is not None else self._store.limits

    # --- inside ------------------------------------------------------------------------------------------

    def _record(
        self, tenant: str, given: Mapping[str, Any], types: dict[str | None, str] | None = None
    ) -> tuple[dict[str, Any], Receiver | None]:
        """What the store takes, and the receiver of the webhook, if there is one; `types`: those seen before."""
        for name in given:
            if name not in _FIELDS:
                raise SubscriptionError(unknown_field(name, _FIELDS))
        id = given.get("id")
        if id is not None and (not isinstance(id, str) or not id or "/" in id):
            msg = f"id: expected a text without /, found {id!r}"
            raise SubscriptionError(msg)
        if id in _UNREACHABLE:
            msg = f"id: {id!r} cannot be part of an address"
            raise SubscriptionError(msg)
        if id is not None and id.startswith(SUBSCRIBER):
            msg = f"id: expected a text that does not begin with {SUBSCRIBER}, as subscribers do, found {id!r}"
            raise SubscriptionError(msg)
        id = id or f"s-{uuid4().hex}"
        record = {name: given.get(name) for name in _GIVEN}
        if record["valid_from"] is not None:
            record["valid_from"] = _time(id, "valid_from", record["valid_from"])
        expires = self._expiry(
            id,
            valid_for=given.get("valid_for"),
            expires=given.get("expires"),
            valid_from=given.get("valid_from"),
        )
        event_type = self._type_inside(tenant, given.get("event_type"), types)
        owner = _owner(tenant, given.get("subscriber"))
        record |= {"id": qualified_name(tenant, id), "owner": owner, "event_type": event_type, "expires": expires}
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
                msg = f"valid_for: expected a number of seconds above 0, found {seconds!r}"
                raise SubscriptionError(msg, id=id)
            begin = now if valid_from is None else max(now, _time(id, "valid_from", valid_from))
            try:
                until = begin + timedelta(seconds=seconds)
            except OverflowError:
                until = datetime.max.replace(tzinfo=UTC)
        if until > longest:
            most = settings.longest_validity_seconds
            msg = f"it may last for at most {most:,} seconds, until {longest:%Y-%m-%dT%H:%MZ}"
            raise SubscriptionError(msg, id=id)
        return until

    def _add_webhook(self, id: str, receiver: Receiver) -> str:
        with _webhook_errors():
            return self._webhooks.add(id, receiver.url, digest_seconds=receiver.digest_seconds)

    def _with_own_types(self, tenant: str, given: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The same, those without an event type with that of the subscription that they replace, if any."""
        typeless = (each.get("id") for each in given if not each.get("event_type"))
        ids = [id for id in typeless if isinstance(id, str) and id and "/" not in id]
        with self._store.view() as view:
            rows = view.rows([qualified_name(tenant, id) for id in ids])
        own = {local_name(id): local_name(row.event_type) for id, row in rows.items() if row.living}
        return [{**each, "event_type": each.get("event_type") or own.get(str(each.get("id")))} for each in given]

    def _living(self, ids: Iterable[str]) -> set[str]:
        """Those of the qualified ids under which there is a subscription."""
        with self._store.view() as view:
            return {id for id, row in view.rows([*ids]).items() if row.living}

    @contextmanager
    def _webhooks_of_import(
        self, receivers: Mapping[str, Receiver], refusals: list[Refusal]
    ) -> Iterator[dict[str, str]]:
        """Make webhooks before their subscriptions, and remove them if these are not made; gives the secrets."""
        secrets: dict[str, str] = {}
        try:
            for id, receiver in receivers.items():
                self._add_imported_webhook(id, receiver, secrets, refusals)
            yield secrets
        except BaseException:
            for id in secrets:
                self._webhooks.remove(id)
            raise

    def _redirect(self, receivers: Mapping[str, Receiver | None], refusals: list[Refusal]) -> dict[str, str]:
        """Let subscriptions that are there be delivered as wanted; gives the secrets of new webhooks."""
        secrets: dict[str, str] = {}
        have = self._webhooks.get_many([*receivers])
        for id, receiver in receivers.items():
            if receiver is None:
                self._webhooks.remove(id)
            elif id not in have or Receiver(have[id].url, have[id].digest_seconds) != receiver:
                self._add_imported_webhook(id, receiver, secrets, refusals)
        return secrets

    def _add_imported_webhook(
        self, id: str, receiver: Receiver, secrets: dict[str, str], refusals: list[Refusal]
    ) -> None:
        from tamis.matcher import Refusal
        from tamis.service.webhooks.records import WebhookError

        try:
            secrets[id] = self._add_webhook(id, receiver)
        except WebhookError as error:
            refusals.append(Refusal(local_name(id), error))

    def _limited_store(self, tenant: str) -> Store:
        """The store, with what the tenant's conditions may ask for."""
        return self._store.with_limits(self.limits(tenant))

    def _add(
        self, tenant: str, records: list[dict[str, Any]], sealed: Mapping[str, Sealed], *, replace: bool
    ) -> None:
        imported, _ = self._import(tenant, records, sealed, replace=replace)
        for refusal in imported.refusals:
            raise _error_for(tenant, refusal.error)

    def _import(
        self, tenant: str, records: list[dict[str, Any]], sealed: Mapping[str, Sealed], *, replace: bool
    ) -> tuple[ImportResult, list[str]]:
        """Write subscriptions and their tickets in one transaction; gives the ids that are new, too."""
        rights = self._accounts.rights(tenant) or TenantRights()
        if rights.subscriptions is not None:
            have = self.count(tenant)
            known = self._living(record["id"] for record in records)
            if have + len({record["id"] for record in records} - known) > rights.subscriptions:
                msg = f"tenant {tenant!r} may have {rights.subscriptions:,} subscriptions, and has {have:,}"
                raise QuotaExceeded(msg)
        new: list[str] = []

        def write(connection: Connection, ids: list[str]) -> None:
            new.extend(ids)
            Accounts.write_tickets(connection, {id: sealed[id] for id in ids})

        return self._limited_store(tenant).add_many(records, replace=replace, alongside=write), new


def _owner(tenant: str, subscriber: Any) -> str:
    """The owner in the store: the address of the subscriber, or else the tenant."""
    if subscriber is None:
        return tenant
    if not isinstance(subscriber, str) or not subscriber or "/" in subscriber or subscriber in _UNREACHABLE:
        msg = f"subscriber: expected a name without /, found {subscriber!r}"
        raise SubscriptionError(msg)
    return subscriber_address(tenant, subscriber)


def _cut(condition: str) -> str:
    return condition if len(condition) <= _SHOWN_CHARACTERS else f"{condition[:_SHOWN_CHARACTERS]}…"


class Receiver(NamedTuple):
    """Where a webhook sends, and for how long it gathers notifications into one message, if it does."""

    url: str
    digest_seconds: float | None = None


def _receiver(id: str, delivery: Any) -> Receiver | None:
    """The receiver of a webhook, None for what is pulled."""
    if delivery is None:
        return None
    if not isinstance(delivery, Mapping) or delivery.get("kind") not in ("pull", "webhook"):
        msg = f"delivery: expected a kind of pull or webhook, found {delivery!r}"
        raise SubscriptionError(msg, id=id)
    url = delivery.get("url")
    if delivery["kind"] == "pull":
        return None
    if not isinstance(url, str) or not url:
        msg = f"delivery.url: expected the URL of the receiver, found {url!r}"
        raise SubscriptionError(msg, id=id)
    seconds = delivery.get("digest_seconds")
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf
    ):
        msg = f"delivery.digest_seconds: expected a number of seconds above 0, found {seconds!r}"
        raise SubscriptionError(msg, id=id)
    return Receiver(url, seconds)


def _time(id: str, key: str, value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = repr(value)
    if not isinstance(value, datetime):
        msg = f"{key}: expected a time, such as 2026-07-01T12:00:00Z, found {value}"
        raise SubscriptionError(msg, id=id)
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        msg = f"{key}: expected a time of the years 1 to 9999 in UTC, found {value}"
        raise SubscriptionError(msg, id=id) from error


@contextmanager
def _errors_for(tenant: str) -> Iterator[None]:
    """Raise the errors of the store as `_error_for` makes them."""
    try:
        yield
    except SubscriptionError as error:
        raise _error_for(tenant, error) from error


@contextmanager
def _webhook_errors() -> Iterator[None]:
    """Raise the errors of webhooks with the names of the tenant."""
    from tamis.service.webhooks.records import WebhookError

    try:
        yield
    except WebhookError as error:
        raise error.with_names(local_name) from error


def _error_for(tenant: str, error: TamisError) -> TamisError:
    """An error of the store as the tenant is to see it: with its own names, and none of another tenant."""
    if not isinstance(error, SubscriptionError):
        return error
    named = error.with_names(lambda name: own_name(tenant, name))
    match error.kind:
        case "unknown" | "unknown event type":
            return NotFound(str(named))
        case "exists" | "event type in use":
            return Conflict(str(named))
    return named


def _for_tenant(stored: StoredSubscription) -> StoredSubscription:
    return replace(
        stored,
        id=local_name(stored.id),
        event_type=local_name(stored.event_type),
        owner=subscriber_of(stored.owner),
    )
