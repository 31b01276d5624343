"""Routes of the pages and their JSON twins, for signed-in callers, with security headers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fastapi import FastAPI
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from tamis.errors import TamisError
from tamis.report import charts, tree
from tamis.service.accounts import DEFAULT_TENANT, Caller
from tamis.service.api.auth import gatekeeper_of, in_thread, service_of
from tamis.service.api.paths import ANY_ID
from tamis.service.api.problems import answer_of
from tamis.service.errors import Forbidden, NotFound, Unauthorized
from tamis.service.page import (
    access,
    api_reference,
    editor,
    event,
    event_types,
    events,
    failures,
    feed,
    notification,
    overview,
    peers,
    publishing,
    statistics,
    subscription,
    subscriptions,
)
from tamis.service.page.links import twin_path, with_query
from tamis.service.page.page_request import PageData, PageRequest, TimedCache
from tamis.service.page.template_filters import environment, to_json

Audience: TypeAlias = Literal["subscribe", "admin", "operator"]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with it a browser does not say where our own forms come from.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_FOLDER = Path(__file__).parent
_BY_ID = "by-id"


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page and what it shows.

    Attributes:
        path: Where it is; `{id}` in it is what it is about.
        template: What renders it.
        title: Of the browser's window.
        data: Gives what it shows, and may wait for databases.
        audience: Who may see it: callers with a role, or the operator of the service only.
    """

    path: str
    template: str
    title: str
    data: Callable[[PageRequest], PageData]
    audience: Audience = "subscribe"

    @property
    def twin(self) -> str:
        """Where its data are as JSON."""
        return twin_path(self.path)


PAGES = (
    PageRoute("/", "overview.html", "Overview", overview.data),
    PageRoute("/subscriptions", "subscriptions.html", "Subscriptions", subscriptions.data),
    PageRoute("/subscriptions/new", "editor.html", "New subscription", editor.data),
    PageRoute("/subscriptions/edit", "editor.html", "Edit subscription", editor.edit_data),
    PageRoute("/subscriptions/{id}", "subscription.html", "Subscription", subscription.data),
    PageRoute("/feed", "feed.html", "Feed", feed.data),
    PageRoute("/events", "events.html", "Events", events.data),
    PageRoute("/events/new", "publish.html", "Publish", publishing.data),
    PageRoute(f"/events/{ANY_ID}", "event.html", "Event", event.data),
    PageRoute("/event-types", "event_types.html", "Event types", event_types.data),
    PageRoute("/event-types/{id}", "event_type.html", "Event type", event_types.one),
    PageRoute("/notifications/{id}", "notification.html", "Notification", notification.data),
    PageRoute("/dead-letters", "dead_letters.html", "Dead letters", failures.dead_letters),
    PageRoute("/failed-deliveries", "failed_deliveries.html", "Failed deliveries", failures.failed_deliveries),
    PageRoute("/statistics", "statistics.html", "Statistics", statistics.data),
    PageRoute("/tokens", "tokens.html", "Tokens", access.tokens, "admin"),
    PageRoute("/tenants", "tenants.html", "Tenants", access.tenants, "operator"),
    PageRoute("/peers", "peers.html", "Peers", peers.data, "operator"),
)
"""All pages; of two that fit a path the first is served."""
_MOVED = {"/bad-events": "/dead-letters"}
"""Earlier addresses of pages, which redirect for one release."""


def install(app: FastAPI) -> None:
    """Add the pages, their twins, sign-in and sign-out, and static files."""
    from tamis.service.page import session

    app.state.page_templates = environment()
    cache = TimedCache()
    for page in PAGES:
        html, json = _html(page, cache), _json(page, cache)
        folder, has_id, _ = page.path.partition("{id")
        if has_id:  # a name that no path can hold
            _add(app, f"{folder}{_BY_ID}{twin_path('')}", json)
            _add(app, f"{folder}{_BY_ID}", html)
        _add(app, page.twin, json)
        _add(app, page.path, html)
    for earlier, now in _MOVED.items():
        _add(app, earlier, _redirect(now))
        _add(app, twin_path(earlier), _redirect(twin_path(now)))
    _add(app, "/sign-in", session.form)
    _add(app, "/sign-in", session.sign_in, "POST")
    _add(app, "/sign-out", session.sign_out, "POST")
    _add(app, "/docs", _api_reference)
    _add(app, "/static/report.css", _report_style)
    app.mount("/static", StaticFiles(directory=_FOLDER / "static"), name="static")
    _answer_browsers(app)


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page of a template."""
    templates: Environment = request.app.state.page_templates
    text = templates.get_template(template).render(**values)
    content = text.encode("utf-8", "replace")
    return Response(content, status, HEADERS, "text/html; charset=utf-8")


async def viewer(request: Request) -> Caller:
    """The caller of a page.

    Raises:
        Unauthorized: The request has no valid token.
        Forbidden: The token may not subscribe.
    """
    caller = await gatekeeper_of(request).caller(request)
    if not caller.may("subscribe"):
        msg = "the page needs a token with the role 'subscribe' or 'admin'"
        raise Forbidden(msg)
    return caller


def check_audience(audience: Audience, caller: Caller) -> None:
    """Refuse a page to who may see others only.

    Raises:
        Forbidden: The page is for administrators, or for the operator.
    """
    if audience == "operator" and not caller.is_operator:
        msg = f"the page needs a token of the tenant {DEFAULT_TENANT!r} with the role 'admin'"
        raise Forbidden(msg)
    if audience == "admin" and not caller.may("admin"):
        msg = "the page needs a token with the role 'admin'"
        raise Forbidden(msg)


def _add(app: FastAPI, path: str, endpoint: Endpoint, method: str = "GET") -> None:
    app.router.add_route(path, endpoint, methods=[method], include_in_schema=False)


def _answer_browsers(app: FastAPI) -> None:
    """Let an unknown address be a page for a browser; a program gets what it got."""
    to_programs: Any = app.exception_handlers[HTTPException]

    async def answer(request: Request, error: HTTPException) -> Response:
        if error.status_code != HTTPStatus.NOT_FOUND or not _wants_page(request):
            found: Response = await to_programs(request, error)
            return found
        try:
            caller = await viewer(request)
        except TamisError:  # whoever it is may not see pages, but may know that this is none
            caller = None
        return _error_page(request, 404, "There is no page at this address.", caller)

    app.add_exception_handler(HTTPException, answer)  # type: ignore[arg-type]  # it handles this kind only


def _wants_page(request: Request) -> bool:
    """Does the client take HTML by name, as browsers do and programs do not?"""
    for kind in request.headers.get("accept", "").lower().split(","):
        name, *parameters = (part.strip() for part in kind.split(";"))
        if name == "text/html":
            return not any(re.fullmatch(r"q=0(\.0*)?", each) for each in parameters)
    return False


def _error_page(request: Request, code: int, message: str, caller: Caller | None) -> Response:
    values = {"code": code, "message": message, "caller": caller}
    return render(request, "error.html", code, page=None, title="Error", twin=None, **values)


def _page_request(request: Request, caller: Caller, cache: TimedCache) -> PageRequest:
    query = {name: value for name, value in request.query_params.items() if "\0" not in value}
    id = request.path_params["id"] if "id" in request.path_params else query.get("id", "")
    if "\0" in id:  # which no database can be asked for
        msg = f"there is no {id!r}"
        raise NotFound(msg)
    return PageRequest(service_of(request), caller, query, cache, id)


def _html(page: PageRoute, cache: TimedCache) -> Endpoint:
    async def serve(request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
        query = f"?{request.url.query}" if request.url.query else ""
        caller = None
        try:
            caller = await viewer(request)
            check_audience(page.audience, caller)
            data = await in_thread(page.data, _page_request(request, caller, cache))
        except Unauthorized:
            return RedirectResponse(with_query("/sign-in", next=path + query), 303, HEADERS)
        except TamisError as error:
            problem = answer_of(error)
            refused = _error_page(request, problem.status_code, str(error), caller)
            if "retry-after" in problem.headers:
                refused.headers["Retry-After"] = problem.headers["retry-after"]
            return refused
        values = {"page": page, "title": page.title, "twin": twin_path(path) + query, "caller": caller}
        is_warming = service_of(request).readiness().state == "warming up"
        made: Response = await in_thread(render, request, page.template, is_warming=is_warming, **values, **data)
        return made

    return serve


def _json(page: PageRoute, cache: TimedCache) -> Endpoint:
    async def serve(request: Request) -> Response:
        caller = await viewer(request)
        check_audience(page.audience, caller)
        data = await in_thread(page.data, _page_request(request, caller, cache))
        headers = {name: HEADERS[name] for name in ("X-Content-Type-Options", "Cache-Control")}
        return Response(await in_thread(to_json, data), 200, headers, "application/json")

    return serve


def _redirect(path: str) -> Endpoint:
    """Answer with another path, and the query that was asked."""

    async def serve(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(path + query, HTTPStatus.PERMANENT_REDIRECT, HEADERS)

    return serve


async def _api_reference(request: Request) -> Response:
    """The reference of the API, which everybody may read, as its description."""
    try:
        caller = await viewer(request)
    except TamisError:
        caller = None
    data = api_reference.data(request.app.openapi(), str(request.base_url).rstrip("/"))
    values = {"page": None, "title": "API", "twin": "/openapi.json", "caller": caller}
    made: Response = await in_thread(render, request, "api_reference.html", **values, **data)
    return made


async def _report_style(_: Request) -> Response:
    """The style of charts and trees, as a report has it."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
    return Response(charts.STYLE + tree.STYLE, 200, headers, "text/css; charset=utf-8")
