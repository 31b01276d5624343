"""How pages are served: each with its twin, to those who are signed in, with headers that keep others out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fastapi import FastAPI
from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from tamis.errors import TamisError
from tamis.report import charts, tree
from tamis.service.accounts import Caller
from tamis.service.api.problems import answer_of
from tamis.service.api.who import gatekeeper_of, in_thread, service_of
from tamis.service.page import (
    editor,
    event,
    events,
    feed,
    notification,
    overview,
    statistics,
    subscription,
    subscriptions,
    troubles,
)
from tamis.service.page.addresses import twin_path, with_query
from tamis.service.page.asking import Asking, Data, Memory
from tamis.service.page.showing import environment, to_json
from tamis.service.problems import Forbidden, NotFound, Unauthorized

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
class Page:
    """A page and what it shows.

    Attributes:
        path: Where it is; `{id}` in it is what it is about.
        template: What renders it.
        title: Of the browser's window.
        data: Gives what it shows, and may wait for databases.
    """

    path: str
    template: str
    title: str
    data: Callable[[Asking], Data]

    @property
    def twin(self) -> str:
        """Where its data are as JSON."""
        return twin_path(self.path)


PAGES = (
    Page("/", "overview.html", "Overview", overview.data),
    Page("/subscriptions", "subscriptions.html", "Subscriptions", subscriptions.data),
    Page("/subscriptions/new", "editor.html", "New subscription", editor.data),
    Page("/subscriptions/{id}", "subscription.html", "Subscription", subscription.data),
    Page("/feed", "feed.html", "Feed", feed.data),
    Page("/events", "events.html", "Events", events.data),
    Page("/events/{id:path}", "event.html", "Event", event.data),
    Page("/notifications/{id}", "notification.html", "Notification", notification.data),
    Page("/bad-events", "bad_events.html", "Bad events", troubles.bad_events),
    Page("/failed-deliveries", "failed_deliveries.html", "Failed deliveries", troubles.failed_deliveries),
    Page("/statistics", "statistics.html", "Statistics", statistics.data),
)
"""All pages; of two that fit a path the first is served."""


def install(app: FastAPI) -> None:
    """Add the pages, their twins, the way in and out, and what they load."""
    from tamis.service.page import signing_in

    app.state.page_templates = environment()
    memory = Memory()
    for page in PAGES:
        html, json = _html(page, memory), _json(page, memory)
        folder, has_id, _ = page.path.partition("{id")
        if has_id:  # a name that no path can hold
            _add(app, f"{folder}{_BY_ID}{twin_path('')}", json)
            _add(app, f"{folder}{_BY_ID}", html)
        _add(app, page.twin, json)
        _add(app, page.path, html)
    _add(app, "/sign-in", signing_in.form)
    _add(app, "/sign-in", signing_in.sign_in, "POST")
    _add(app, "/sign-out", signing_in.sign_out, "POST")
    _add(app, "/static/report.css", _report_style)
    app.mount("/static", StaticFiles(directory=_FOLDER / "static"), name="static")


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page of a template."""
    templates: Environment = request.app.state.page_templates
    text = templates.get_template(template).render(**values)
    content = text.encode("utf-8", "replace")
    return Response(content, status, HEADERS, "text/html; charset=utf-8")


async def viewer(request: Request) -> Caller:
    """Who looks at a page.

    Raises:
        Unauthorized: Nobody that is known.
        Forbidden: Somebody who may not subscribe.
    """
    caller = await gatekeeper_of(request).caller(request)
    if not caller.may("subscribe"):
        msg = "the page needs a token with the role 'subscribe' or 'admin'"
        raise Forbidden(msg)
    return caller


def _add(app: FastAPI, path: str, endpoint: Endpoint, method: str = "GET") -> None:
    app.router.add_route(path, endpoint, methods=[method], include_in_schema=False)


def _asking(request: Request, caller: Caller, memory: Memory) -> Asking:
    query = {name: value for name, value in request.query_params.items() if "\0" not in value}
    id = request.path_params["id"] if "id" in request.path_params else query.get("id", "")
    if "\0" in id:  # which no database can be asked for
        msg = f"there is no {id!r}"
        raise NotFound(msg)
    return Asking(service_of(request), caller, query, memory, id)


def _html(page: Page, memory: Memory) -> Endpoint:
    async def serve(request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
        query = f"?{request.url.query}" if request.url.query else ""
        caller = None
        try:
            caller = await viewer(request)
            data = await in_thread(page.data, _asking(request, caller, memory))
        except Unauthorized:
            return RedirectResponse(with_query("/sign-in", next=path + query), 303, HEADERS)
        except TamisError as error:
            problem = answer_of(error)
            values = {"code": problem.status_code, "message": str(error), "caller": caller}
            refused = render(
                request, "error.html", problem.status_code, page=None, title="Error", twin=None, **values
            )
            if "retry-after" in problem.headers:
                refused.headers["Retry-After"] = problem.headers["retry-after"]
            return refused
        twin = twin_path(path) + query
        made: Response = await in_thread(
            render, request, page.template, page=page, title=page.title, twin=twin, caller=caller, **data
        )
        return made

    return serve


def _json(page: Page, memory: Memory) -> Endpoint:
    async def serve(request: Request) -> Response:
        caller = await viewer(request)
        data = await in_thread(page.data, _asking(request, caller, memory))
        headers = {name: HEADERS[name] for name in ("X-Content-Type-Options", "Cache-Control")}
        return Response(await in_thread(to_json, data), 200, headers, "application/json")

    return serve


async def _report_style(_: Request) -> Response:
    """The style of charts and trees, as a report has it."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
    return Response(charts.STYLE + tree.STYLE, 200, headers, "text/css; charset=utf-8")
