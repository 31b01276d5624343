"""Authentication, authorisation and rate limits of requests.

A request has its token in `Authorization: Bearer` or, from the page, in a cookie. Browsers send a cookie with
requests that pages of other sites make, so a request with a cookie may change something only if it comes from our
own pages.
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

from tamis.service.accounts import DEFAULT_TENANT, Caller, Role, TenantRights
from tamis.service.core import Service
from tamis.service.errors import Forbidden, Overloaded, Unauthorized
from tamis.service.rate_limit import TokenBucket
from tamis.service.settings import ServiceSettings

COOKIE = "tamis_token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_KNOWN_TOKENS = 10_000
_KNOWN_SECONDS = 5.0
"""How long tokens and rights are cached: a revoked token works for no longer than this in other processes."""

_bearer = HTTPBearer(auto_error=False, description="A token, as `tamis serve` and POST /v1/tokens give it.")


class Gatekeeper:
    """Checks the tokens and rates of a service's callers; used within the event loop only."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._callers: OrderedDict[str, tuple[float, Caller]] = OrderedDict()
        self._rights: dict[str, tuple[float, TenantRights]] = {}
        self._buckets: dict[tuple[str, str], TokenBucket] = {}

    async def caller(self, request: Request) -> Caller:
        """The caller of a request.

        Raises:
            Unauthorized: The request has no valid token.
            Forbidden: A page of another site made the browser send it.
            Overloaded: The tenant exceeds its rate of requests.
        """
        header = request.headers.get("authorization", "")
        scheme, _, text = header.partition(" ")
        text = text.strip() if scheme.lower() == "bearer" else ""
        if not text and COOKIE in request.cookies:
            text = request.cookies[COOKIE]
            check_origin(request)
        found = await self._token_caller(text) if text else self._anonymous(request)
        if found is None:
            what = "the token is not one of this service" if text else "expected a token"
            msg = f"{what}: Authorization: Bearer ..."
            raise Unauthorized(msg)
        rights = await self.rights(found.tenant)
        self._check_rate(found.tenant, "requests", rights.requests_per_second, 1)
        return found

    async def rights(self, tenant: str) -> TenantRights:
        """What a tenant may use, as of a few seconds ago."""
        now = time.monotonic()
        at, rights = self._rights.get(tenant, (-_KNOWN_SECONDS, TenantRights()))
        if now - at >= _KNOWN_SECONDS:
            found = await in_thread(self._service.accounts.rights, tenant)
            rights = found or TenantRights()
            self._rights[tenant] = now, rights
        return rights

    async def take_events(self, caller: Caller, count: int) -> None:
        """Count events that a tenant publishes.

        Raises:
            Overloaded: It publishes too many.
        """
        rights = await self.rights(caller.tenant)
        self._check_rate(caller.tenant, "events", rights.events_per_second, count)

    def forget(self) -> None:
        """Forget cached tokens and rights, after a change."""
        self._callers.clear()
        self._rights.clear()

    async def _token_caller(self, text: str) -> Caller | None:
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
        """The caller of a request without a token, which may publish at most, if the settings allow it."""
        is_publish = request.method == "POST" and request.url.path == "/v1/events"
        if is_publish and self._service.settings.anonymous_publish:
            return Caller(DEFAULT_TENANT, frozenset({"publish"}), None)
        return None

    def _check_rate(self, tenant: str, what: str, per_second: float | None, amount: float) -> None:
        if per_second is None:
            return
        now = time.monotonic()
        bucket = self._buckets.get((tenant, what))
        if bucket is None or bucket.per_second != per_second:
            bucket = self._buckets[tenant, what] = TokenBucket(per_second, now)
        wait = bucket.take(amount, now)
        if wait:
            msg = f"tenant {tenant!r} may have {per_second:g} {what} a second; come back in {wait:.1f} s"
            raise Overloaded(msg, wait, 429)


def check_origin(request: Request) -> None:
    """Refuse requests with our cookie that a page of another site makes a browser send.

    Raises:
        Forbidden: The request comes from another site, or does not say where it comes from.
    """
    if request.method in _SAFE:
        return
    site = request.headers.get("sec-fetch-site", "same-origin")
    ours = [f"{scheme}://{request.headers.get('host')}" for scheme in ("http", "https")]
    if site != "same-origin" or request.headers.get("origin") not in ours:
        msg = "a request with a cookie may change something only if it comes from a page of this service"
        raise Forbidden(msg)


def is_our_host(settings: ServiceSettings, header: str) -> bool:
    """Whether a Host header names this service, against DNS rebinding: foreign names that lead to our address."""
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
    """The gatekeeper of the application."""
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
    """The operator of the service: an administrator of the tenant `default`."""
    caller = await gatekeeper_of(request).caller(request)
    if not caller.is_operator:
        msg = f"that needs a token of the tenant {DEFAULT_TENANT!r} with the role 'admin'"
        raise Forbidden(msg)
    return caller


async def in_thread(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Run a blocking function in a thread, so that the event loop goes on."""
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(function, *args, **named)


CurrentService = Annotated[Service, Depends(service_of)]
CurrentGatekeeper = Annotated[Gatekeeper, Depends(gatekeeper_of)]
Publisher = Annotated[Caller, Depends(_needs("publish"))]
Subscriber = Annotated[Caller, Depends(_needs("subscribe"))]
Admin = Annotated[Caller, Depends(_needs("admin"))]
Operator = Annotated[Caller, Depends(_operator)]
