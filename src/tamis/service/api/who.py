"""Who asks, whether they may, and whether they ask too much.

A request shows its token as `Authorization: Bearer`, or, from the page, as a cookie. A cookie is sent by browsers
whoever made them send it, so with one only requests of our own pages may change anything.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from tamis.service.accounts import DEFAULT_TENANT, Caller, Rights, Role
from tamis.service.core import Service
from tamis.service.problems import Forbidden, Overloaded, Unauthorized
from tamis.service.publishing import Pace
from tamis.service.settings import Settings

COOKIE = "tamis_token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_KNOWN_TOKENS = 10_000
_KNOWN_SECONDS = 5.0
"""For so long a token that was good is taken for good, and rights for what they were."""

_bearer = HTTPBearer(auto_error=False, description="A token, as `tamis serve` and POST /v1/tokens give it.")


class Gatekeeper:
    """Knows tokens and paces of a service; asked within the event loop only."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._callers: OrderedDict[str, tuple[float, Caller]] = OrderedDict()
        self._rights: dict[str, tuple[float, Rights]] = {}
        self._paces: dict[tuple[str, str], Pace] = {}

    async def caller(self, request: Request) -> Caller:
        """Who asks.

        Raises:
            Unauthorized: Nobody that is known.
            Forbidden: A browser that was made to ask by another page.
            Overloaded: Its tenant asks too often.
        """
        header = request.headers.get("authorization", "")
        scheme, _, text = header.partition(" ")
        text = text.strip() if scheme.lower() == "bearer" else ""
        if not text and COOKIE in request.cookies:
            text = request.cookies[COOKIE]
            check_origin(request)
        found = await self._known(text) if text else self._anonymous(request)
        if found is None:
            what = "the token is not one of this service" if text else "expected a token"
            msg = f"{what}: Authorization: Bearer ..."
            raise Unauthorized(msg)
        rights = await self.rights(found.tenant)
        self._pace(found.tenant, "requests", rights.requests_per_second, 1)
        return found

    async def rights(self, tenant: str) -> Rights:
        """What a tenant may use, as of a few seconds ago."""
        now = time.monotonic()
        at, rights = self._rights.get(tenant, (-_KNOWN_SECONDS, Rights()))
        if now - at >= _KNOWN_SECONDS:
            found = await in_thread(self._service.accounts.rights, tenant)
            rights = found or Rights()
            self._rights[tenant] = now, rights
        return rights

    async def take_events(self, caller: Caller, count: int) -> None:
        """Count events that a tenant publishes.

        Raises:
            Overloaded: It publishes too many.
        """
        rights = await self.rights(caller.tenant)
        self._pace(caller.tenant, "events", rights.events_per_second, count)

    def forget(self) -> None:
        """Tokens or rights were changed."""
        self._callers.clear()
        self._rights.clear()

    async def _known(self, text: str) -> Caller | None:
        now = time.monotonic()
        at, caller = self._callers.get(text, (0.0, None))
        if caller is not None and now - at < _KNOWN_SECONDS:
            return caller
        found: Caller | None = await in_thread(self._service.accounts.caller, text)
        self._callers.pop(text, None)
        if found is not None:
            self._callers[text] = now, found
            if len(self._callers) > _KNOWN_TOKENS:
                self._callers.popitem(last=False)
        return found

    def _anonymous(self, request: Request) -> Caller | None:
        """Somebody without a token, where that is allowed: who publishes only."""
        is_publish = request.method == "POST" and request.url.path == "/v1/events"
        if is_publish and self._service.settings.anonymous_publish:
            return Caller(DEFAULT_TENANT, frozenset({"publish"}), None)
        return None

    def _pace(self, tenant: str, what: str, per_second: float | None, amount: float) -> None:
        if per_second is None:
            return
        now = time.monotonic()
        pace = self._paces.get((tenant, what))
        if pace is None or pace.per_second != per_second:
            pace = self._paces[tenant, what] = Pace(per_second, now)
        wait = pace.take(amount, now)
        if wait:
            msg = f"tenant {tenant!r} may have {per_second:g} {what} a second; come back in {wait:.1f} s"
            raise Overloaded(msg, wait, 429)


def check_origin(request: Request) -> None:
    """Refuse what a page of somebody else makes a browser do with our cookie.

    Raises:
        Forbidden: That is what it is, or it does not say otherwise.
    """
    if request.method in _SAFE:
        return
    site = request.headers.get("sec-fetch-site", "same-origin")
    ours = [f"{scheme}://{request.headers.get('host')}" for scheme in ("http", "https")]
    if site != "same-origin" or request.headers.get("origin") not in ours:
        msg = "a request with a cookie may change something only if it comes from a page of this service"
        raise Forbidden(msg)


def is_our_host(settings: Settings, header: str) -> bool:
    """Is the service asked under a name that it has? Names that others made up could be anybody's."""
    try:
        name = urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return False
    if name in ("localhost", settings.host.lower(), *(host.lower() for host in settings.hosts)):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True  # an address cannot be pointed elsewhere by who owns a name


def gatekeeper_of(request: Request) -> Gatekeeper:
    """The one of the application."""
    keeper: Gatekeeper = request.app.state.gatekeeper
    return keeper


def service_of(request: Request) -> Service:
    """The service that the application is for."""
    service: Service = request.app.state.service
    return service


def _needs(role: Role) -> Callable[..., Awaitable[Caller]]:
    async def check(request: Request, _: Annotated[Any, Depends(_bearer)]) -> Caller:
        caller = await gatekeeper_of(request).caller(request)
        if not caller.may(role):
            msg = f"that needs a token with the role {role!r}"
            raise Forbidden(msg)
        return caller

    return check


async def _operator(request: Request, _: Annotated[Any, Depends(_bearer)]) -> Caller:
    """Who looks after the service: an administrator of the tenant `default`."""
    caller = await gatekeeper_of(request).caller(request)
    if not caller.may("admin") or caller.tenant != DEFAULT_TENANT:
        msg = f"that needs a token of the tenant {DEFAULT_TENANT!r} with the role 'admin'"
        raise Forbidden(msg)
    return caller


async def in_thread(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What a function that waits for a database gives, without letting others wait."""
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(function, *args, **named)


Asked = Annotated[Service, Depends(service_of)]
Keeper = Annotated[Gatekeeper, Depends(gatekeeper_of)]
Publisher = Annotated[Caller, Depends(_needs("publish"))]
Subscriber = Annotated[Caller, Depends(_needs("subscribe"))]
Admin = Annotated[Caller, Depends(_needs("admin"))]
Operator = Annotated[Caller, Depends(_operator)]
