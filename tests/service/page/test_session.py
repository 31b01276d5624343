"""The way in and out, and what keeps others out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from tamis.service.api.auth import COOKIE
from tamis.service.api.paths import ANY_ID
from tamis.service.page.links import local
from tamis.service.page.routes import PAGES
from tests.service.page.worlds import ORIGIN, World

Visit = Callable[[str | None], TestClient]
OURS = {"Origin": ORIGIN}


def test_who_is_not_signed_in_is_sent_to_the_form_and_back(world: World, visit: Visit) -> None:
    browser = visit(None)
    answer = browser.get("/feed?subscription=a b")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Ffeed%3Fsubscription%3Da%2520b"
    form = browser.get(answer.headers["location"])
    assert 'name="next" value="/feed?subscription=a%20b"' in form.text
    signed = browser.post("/sign-in", data={"token": world.token, "next": "/feed?x=1"}, headers=OURS)
    assert (signed.status_code, signed.headers["location"]) == (303, "/feed?x=1")
    assert browser.get("/feed").status_code == 200


def test_every_page_wants_a_token(visit: Visit) -> None:
    for page in PAGES:
        path = page.path.replace("{id}", "x").replace(ANY_ID, "x")
        assert visit(None).get(path).headers["location"].startswith("/sign-in?next="), path
        assert visit(None).get(page.twin.replace("{id}", "x").replace(ANY_ID, "x")).status_code == 401, path


def test_the_cookie_is_kept_from_scripts_and_other_sites(world: World, visit: Visit) -> None:
    cookie = visit(None).post("/sign-in", data={"token": world.token}, headers=OURS).headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert "Secure" not in cookie


def test_over_https_the_cookie_is_secure(world: World, visit: Visit) -> None:
    browser = visit(None)
    browser.base_url = "https://127.0.0.1"
    answer = browser.post("/sign-in", data={"token": world.token}, headers={"Origin": "https://127.0.0.1"})
    assert "Secure" in answer.headers["set-cookie"]


def test_a_wrong_token_is_refused_and_not_repeated(visit: Visit) -> None:
    answer = visit(None).post("/sign-in", data={"token": "guess-1234"}, headers=OURS)
    assert answer.status_code == 401
    assert "not a token" in answer.text
    assert "guess-1234" not in answer.text
    assert "set-cookie" not in answer.headers


def test_who_may_only_publish_sees_no_page(world: World, visit: Visit) -> None:
    answer = visit(None).post("/sign-in", data={"token": world.publisher}, headers=OURS)
    assert answer.status_code == 403
    assert visit(world.publisher).get("/").status_code == 403


def test_signing_out_forgets_the_token(world: World, visit: Visit) -> None:
    answer = visit(world.token).post("/sign-out", headers=OURS)
    assert answer.status_code == 303
    assert f'{COOKIE}=""' in answer.headers["set-cookie"]


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/v1/subscriptions", "/v1/dead-letters/x/replay"])
def test_other_sites_can_change_nothing(world: World, visit: Visit, path: str, headers: dict[str, str]) -> None:
    answer = visit(world.token).post(path, headers=headers, json={"condition": "a = 1"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert world.service.subscriptions.count("default") == 3


def test_pages_allow_no_scripts_but_ours(world: World, visit: Visit) -> None:
    for browser, path in (
        (visit(world.token), "/"),
        (visit(None), "/sign-in"),
        (visit(world.token), "/events/no"),
    ):
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "/\t/evil.example",
        "",
        "javascript:x",
        "/a\r\nb",
    ],
)
def test_nobody_is_sent_elsewhere(world: World, visit: Visit, path: str) -> None:
    assert local(path) == "/"
    answer = visit(None).post("/sign-in", data={"token": world.token, "next": path}, headers=OURS)
    assert answer.headers["location"] == "/"


def test_what_is_static_is_there_and_nothing_beside_it(visit: Visit) -> None:
    for name in ("report.css", "page.css", "common.js", "editor.js", "icon.svg"):
        assert visit(None).get(f"/static/{name}").status_code == 200, name
    for name in ("../serving.py", "..%2Fserving.py", "%2e%2e/serving.py"):
        assert visit(None).get(f"/static/{name}").status_code in (303, 404), name


def test_nothing_is_loaded_from_elsewhere() -> None:
    from pathlib import Path

    import tamis.service.page

    folder = Path(tamis.service.page.__file__).parent
    for file in (*folder.glob("static/*"), *folder.glob("templates/*")):
        text = file.read_text().replace("http://www.w3.org/2000/svg", "").replace('placeholder="https://"', "")
        assert "http://" not in text and "https://" not in text, file.name
