"""Advertisements: what publishers say of their events, and what follows from it.

An advertisement is bound to the token that made it. An event conforms if it satisfies an advertisement of its type
that is bound to the token it was published with, or to none, as those that earlier versions made. What becomes of
an event that does not is the tenant's right `conformity`. No condition that overlaps with no advertisement can be
satisfied by an event that conforms; the domains that the event type declares take part in that.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tamis.composite.parts import compile_composite
from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of
from tamis.language.condition import compile_condition
from tamis.language.dialects import has_state
from tamis.matcher import Matcher
from tamis.routing.overlap import OverlapIndex
from tamis.service.accounts import Accounts, StoredAdvertisement
from tamis.service.ingestion import PublishedEvent, places_by_type
from tamis.service.names import local_name, qualified_name
from tamis.service.subscriptions import TenantSubscriptions

UNADVERTISED = "unadvertised"
"""The code of the finding that no advertisement overlaps with a condition."""
_KNOWN_SECONDS = 0.5
_MATCHERS = 256


class Advertising:
    """The advertisements of all tenants, as of a moment ago; it may be called from several threads."""

    def __init__(self, accounts: Accounts, subscriptions: TenantSubscriptions) -> None:
        self._accounts = accounts
        self._subscriptions = subscriptions
        self._known: dict[str, tuple[float, list[StoredAdvertisement]]] = {}
        self._matchers: OrderedDict[tuple[Any, ...], Matcher] = OrderedDict()

    def forget(self) -> None:
        """Forget what is known, after a change."""
        self._known.clear()

    def unadvertised_events(
        self,
        tenant: str,
        token: str | None,
        events: Sequence[PublishedEvent],
        types: Mapping[str, EventType],
        default: str,
    ) -> list[tuple[int, str]]:
        """The events of a request that do not conform, by their places, counted from 1, and why.

        Args:
            tenant: Whose they are.
            token: The id of the publisher's token.
            events: Of the request.
            types: The event types that the tenant has declared.
            default: The type of an event that names none of them.
        """
        found: dict[int, str] = {}
        for name, places in places_by_type(events, types, default).items():
            event_type = types.get(name) or EventType(name)
            said = [each for each in self._of_type(tenant, name) if each.token in (None, token)]
            listed = ", ".join(local_name(each.id) for each in said)
            what = f"satisfies none of {listed}" if said else f"its publisher advertises nothing of type {name!r}"
            found |= dict.fromkeys(places, f"not as advertised: {what}")
            if said:
                values = pa.array([events[place].value for place in places], pa.binary())
                matcher = self._matcher(tenant, event_type, said)
                for batch in read_json_values(values, event_type).batches:
                    rows = rows_of(batch)
                    for row in matcher.match_pairs(batch).columns()[0].tolist():
                        found.pop(places[rows[row]], None)
        return [(place + 1, found[place]) for place in sorted(found)]

    def finding(self, tenant: str, event_type: EventType, condition: str, dialect: str) -> dict[str, Any] | None:
        """The warning that no event which conforms can satisfy a condition, for JSON; None if one may.

        A tenant whose publishers advertise nothing of the type is not warned, unless its events must conform.

        Args:
            tenant: Whose it is.
            event_type: Under its qualified name.
            condition: A valid one.
            dialect: Of the condition.
        """
        name = local_name(event_type.name)
        said = self._of_type(tenant, name)
        rights = self._accounts.rights(tenant)
        if not said and (rights is None or rights.conformity == "off"):
            return None
        limits = self._subscriptions.limits(tenant)
        index = OverlapIndex([event_type])
        for each in said:
            index.add(each.id, event_type.name, compile_condition(each.condition, event_type, limits).formula)
        if has_state(dialect):  # an event must conform for each part
            formulas = [part.local.formula for part in compile_composite(condition, event_type, limits).parts]
        else:
            formulas = [compile_condition(condition, event_type, limits, dialect).formula]
        if all(index.overlaps(event_type.name, formula) for formula in formulas):
            return None
        message = f"it overlaps with no advertisement: no event of type {name!r} that is announced satisfies it"
        place = {"line": 1, "column": 1, "start": 0, "end": len(condition)}
        return {"severity": "warning", "code": UNADVERTISED, "message": message, **place}

    def _of_type(self, tenant: str, name: str) -> list[StoredAdvertisement]:
        """What is advertised of events of a type, by its local name."""
        at, found = self._known.get(tenant, (-_KNOWN_SECONDS, []))
        if time.monotonic() - at >= _KNOWN_SECONDS:
            found = self._accounts.advertisements(tenant)
            self._known[tenant] = time.monotonic(), found
        called = qualified_name(tenant, name)
        return [each for each in found if each.event_type == called]

    def _matcher(self, tenant: str, event_type: EventType, said: Sequence[StoredAdvertisement]) -> Matcher:
        """The matcher of some advertisements; two requests may build the same one, and either will do."""
        limits = self._subscriptions.limits(tenant)
        conditions = tuple((each.id, each.condition) for each in said)
        key = (tenant, event_type.name, str(event_type.to_dict()), limits, conditions)
        matcher = self._matchers.pop(key, None)
        if matcher is None:
            matcher = Matcher(event_type, limits=limits)
            matcher.add_many(conditions)
        self._matchers[key] = matcher
        while len(self._matchers) > _MATCHERS:
            self._matchers.popitem(last=False)
        return matcher
