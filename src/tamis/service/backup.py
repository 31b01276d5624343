"""A backup: everything that people have set up, of all tenants, as records that another service takes.

Tokens, tickets and webhooks go on working there: tokens and tickets are kept as salted hashes, webhooks with the
secrets that sign their calls, links to other sites with their tokens. Events, notifications and histories are not
part of it, nor links that are in the settings.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal, TypeAlias, get_args

from sqlalchemy import Connection

from tamis.errors import TamisError
from tamis.events.event_type import EventType
from tamis.matcher import Refusal
from tamis.service.accounts import Accounts, StoredToken, TenantRights
from tamis.service.credentials import Sealed
from tamis.service.names import link_of, subscriber_of, tenant_of
from tamis.service.peers.links import FROM_API, Links
from tamis.service.subscriptions import TenantSubscriptions
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.records import Webhook
from tamis.store import Store, StoredSubscription
from tamis.store.records import FIELDS

Kind: TypeAlias = Literal["tenant", "token", "event_type", "advertisement", "subscriber", "link", "subscription"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What a record is, in the order in which records need each other."""
_TOGETHER = 500
_ACTOR = "the operator, from a backup"
"""Who made what was restored; a tenant is not told with which token."""


class BackupError(TamisError):
    """A record is not of a backup."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What became of the records of a backup.

    Attributes:
        restored: How many of each kind are as the records say.
        refusals: Those that are not, and why.
    """

    restored: dict[Kind, int]
    refusals: list[Refusal]


class Backup:
    """Reads and restores what people have set up."""

    def __init__(
        self,
        store: Store,
        accounts: Accounts,
        subscriptions: TenantSubscriptions,
        webhooks: Webhooks,
        links: Links,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._subscriptions = subscriptions
        self._webhooks = webhooks
        self._links = links

    def records(self) -> Iterator[dict[str, Any]]:
        """All records, each under its kind; subscriptions and event types are of one version of the store."""
        tenants = self._accounts.tenants()
        for name, rights in tenants.items():
            yield {"tenant": {"name": name, "rights": asdict(rights)}}
        for name in tenants:
            for token, sealed in self._accounts.sealed_tokens(name):
                yield {"token": {**asdict(token), "created": token.created.isoformat(), **_texts(sealed)}}
        for link in self._links.all():
            if link.origin == FROM_API:
                yield {"link": {"name": link.name, "url": link.url, "token": link.token}}
        with self._store.view() as view:
            for event_type in view.event_types().values():
                yield {"event_type": event_type.to_dict()}
            for name in tenants:
                for each in self._accounts.advertisements(name):
                    record = {field: getattr(each, field) for field in ("id", "condition", "event_type", "token")}
                    yield {"advertisement": {"tenant": name, **record}}
            for hook in self._webhooks.list():
                if subscriber_of(hook.subscription_id) is not None:
                    yield {"subscriber": {"address": hook.subscription_id, **_webhook_record(hook)}}
            stored = (each for each in view.subscriptions() if link_of(each.id) is None)
            while some := [*islice(stored, _TOGETHER)]:
                yield from self._subscription_records(some)

    def restore(self, records: Iterable[Any], *, replace: bool = False) -> RestoreResult:
        """Set up what the records say; what is there already is refused, or changed with `replace`.

        Tenants and event types that are there are changed in any case.
        """
        refusals: list[Refusal] = []
        by_kind: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in KINDS}
        for number, record in enumerate(records, 1):
            match [*record.items()] if isinstance(record, Mapping) else []:
                case [(kind, dict(given))] if kind in by_kind:
                    by_kind[kind].append(given)
                case _:
                    msg = f"expected an object with one of {', '.join(KINDS)}, found {json.dumps(record)[:80]}"
                    refusals.append(Refusal(f"record {number}", BackupError(msg)))
        counts: Counter[Kind] = Counter(dict.fromkeys(KINDS, 0))
        restore_one: dict[Kind, Callable[[Mapping[str, Any]], None]] = {
            "tenant": self._restore_tenant,
            "token": self._restore_token,
            "event_type": self._restore_event_type,
            "advertisement": self._restore_advertisement,
            "subscriber": self._restore_subscriber,
            "link": self._restore_link,
        }
        for kind, restore in restore_one.items():
            for value in by_kind[kind]:
                name = str(value.get("id") or value.get("name") or kind)
                try:
                    restore(value)
                    counts[kind] += 1
                except TamisError as error:
                    refusals.append(Refusal(name, error))
                except (KeyError, TypeError, ValueError) as error:
                    refusals.append(Refusal(name, BackupError(f"{kind}: {type(error).__name__}: {error}")))
        refused = self._restore_subscriptions(by_kind["subscription"], replace=replace)
        counts["subscription"] = len(by_kind["subscription"]) - len(refused)
        return RestoreResult(dict(counts), [*refusals, *refused])

    def _subscription_records(self, stored: list[StoredSubscription]) -> Iterator[dict[str, Any]]:
        ids = [each.id for each in stored]
        tickets, hooks = self._accounts.sealed_tickets(ids), self._webhooks.get_many(ids)
        for each in stored:
            record: dict[str, Any] = {name: getattr(each, name) for name in FIELDS}
            record |= {name: _time_text(record[name]) for name in ("valid_from", "expires")}
            if each.id in tickets:
                record["ticket"] = _texts(tickets[each.id])
            if each.id in hooks:
                record["webhook"] = _webhook_record(hooks[each.id])
            yield {"subscription": record}

    def _restore_tenant(self, value: Mapping[str, Any]) -> None:
        self._accounts.set_rights(value["name"], TenantRights.of(value["rights"]))
        self._subscriptions.prepare(value["name"])

    def _restore_token(self, value: Mapping[str, Any]) -> None:
        created = datetime.fromisoformat(value["created"])
        token = StoredToken(value["id"], value["tenant"], tuple(value["roles"]), value["label"], created)
        self._accounts.put_token(token, _read_sealed(value))

    def _restore_event_type(self, value: Mapping[str, Any]) -> None:
        self._store.acting_as(_ACTOR).set_event_type(EventType.from_dict(value))

    def _restore_advertisement(self, value: Mapping[str, Any]) -> None:
        token = value.get("token")  # backups of earlier versions have none
        self._accounts.advertise(value["tenant"], value["id"], value["condition"], value["event_type"], token)

    def _restore_subscriber(self, value: Mapping[str, Any]) -> None:
        if subscriber_of(value["address"]) is None or self._accounts.rights(tenant_of(value["address"])) is None:
            msg = f"subscriber: expected the address of one of a tenant, found {value['address']!r}"
            raise BackupError(msg)
        self._webhooks.add(value["address"], **_webhook_fields(value))

    def _restore_link(self, value: Mapping[str, Any]) -> None:
        if any(each.name == value["name"] and each.origin != FROM_API for each in self._links.all()):
            msg = f"link: the settings of this service have one to {value['name']!r}, which counts"
            raise BackupError(msg)
        self._links.put(str(value["name"]), str(value["url"]), str(value["token"]))

    def _restore_subscriptions(self, values: list[Mapping[str, Any]], *, replace: bool) -> list[Refusal]:
        """Write subscriptions with their tickets in one change, then their webhooks; gives the refused ones."""
        refusals: list[Refusal] = []
        rows, tickets = [], {}
        hooks: dict[str, dict[str, Any]] = {}
        for value in values:
            id = str(value.get("id") or "subscription")
            try:
                rows.append(_subscription_row(value))
                if "ticket" in value:
                    tickets[id] = _read_sealed(value["ticket"])
                if "webhook" in value:
                    hooks[id] = _webhook_fields(value["webhook"])
            except BackupError as error:
                refusals.append(Refusal(id, error))
            except (KeyError, TypeError, ValueError) as error:
                msg = f"subscription: {type(error).__name__}: {error}"
                refusals.append(Refusal(id, BackupError(msg)))
        known = {row["id"] for row in rows}

        def write(connection: Connection, new: list[str]) -> None:
            written = known if replace else {*new}
            Accounts.write_tickets(connection, {id: tickets[id] for id in written & tickets.keys()})

        refusals += self._store.acting_as(_ACTOR).add_many(rows, replace=replace, alongside=write).refusals
        refused = {each.id for each in refusals}
        for id, hook in hooks.items():
            if id not in refused:
                try:
                    self._webhooks.add(id, **hook)
                except TamisError as error:
                    refusals.append(Refusal(id, error))
        return refusals


def _subscription_row(value: Mapping[str, Any]) -> dict[str, Any]:
    """What the store takes.

    Raises:
        BackupError: The subscription or its event type is not the owner's.
    """
    row = {name: value[name] for name in FIELDS if name != "dialect"}
    row["dialect"] = value.get("dialect")  # backups of earlier versions have none
    tenant = tenant_of(str(row["owner"]))
    for name in ("id", "event_type"):
        if not str(row[name]).startswith(f"{tenant}/"):
            msg = f"subscription: {name}: expected a name of tenant {tenant!r}, found {row[name]!r}"
            raise BackupError(msg)
    return row


def _webhook_record(hook: Webhook) -> dict[str, Any]:
    record = {"url": hook.url, "secret": hook.secret, "state": hook.state}
    return record | ({} if hook.digest_seconds is None else {"digest_seconds": hook.digest_seconds})


def _webhook_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """What `Webhooks.add` takes."""
    seconds = value.get("digest_seconds")
    fields: dict[str, Any] = {name: str(value[name]) for name in ("url", "secret", "state")}
    return fields | {"digest_seconds": None if seconds is None else float(seconds)}


def _texts(sealed: Sealed) -> dict[str, str]:
    return {name: b64encode(value).decode() for name, value in sealed._asdict().items()}


def _read_sealed(value: Mapping[str, Any]) -> Sealed:
    return Sealed(b64decode(value["salt"]), b64decode(value["hash"]))


def _time_text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
