"""Sign-in and sign-out: a form takes a token, and a cookie that scripts cannot read keeps it."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tamis.service.api.auth import COOKIE, check_origin, in_thread, service_of
from tamis.service.api.request_body import read_body
from tamis.service.page.links import local
from tamis.service.page.routes import HEADERS, render

_MOST_BYTES = 10_000


async def form(request: Request) -> Response:
    """The page to sign in."""
    return _form(request, local(request.query_params.get("next")), None, 200)


async def sign_in(request: Request) -> Response:
    """Check a token and set the cookie."""
    check_origin(request)
    given = parse_qs((await read_body(request, _MOST_BYTES)).decode("utf-8", "replace"))
    token = given.get("token", [""])[0].strip()
    then = local(given.get("next", [""])[0])
    caller = await in_thread(service_of(request).accounts.caller, token) if token else None
    if caller is None:
        return _form(request, then, "That is not a token of this service.", 401)
    if not caller.may("subscribe"):
        return _form(request, then, "That token may only publish; the page needs one that may subscribe.", 403)
    answer = RedirectResponse(then, 303, HEADERS)
    is_secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, path="/", httponly=True, samesite="strict", secure=is_secure)
    return answer


async def sign_out(request: Request) -> Response:
    check_origin(request)
    answer = RedirectResponse("/sign-in", 303, HEADERS)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def _form(request: Request, then: str, problem: str | None, status: int) -> Response:
    values = {"page": None, "title": "Sign in", "twin": None, "caller": None}
    return render(request, "sign_in.html", status, next=then, problem=problem, **values)
