"""What every request passes: names, origins, sizes; and that every error has the one shape."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterator

import httpx2
import pytest

from tamis.service.api.auth import COOKIE
from tests.service.api.running import DEADLINE_SECONDS, Running, Tenant, problem

JSON = {"Content-Type": "application/json"}


# --- the name that is asked for ------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST:80", "[::1]:8765", "10.1.2.3"])
def test_an_address_and_localhost_are_names_of_the_service(served: Running, host: str) -> None:
    assert served.client(Host=host).get("/ping").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "localhost.evil.example", "[", "127.0.0.1.x"]
)
def test_other_names_are_not(served: Running, host: str) -> None:
    for path in ("/ping", "/v1/subscriptions", "/", "/openapi.json"):
        problem(served.client(Host=host).get(path), 421, "invalid")


def test_more_names_come_by_setting(serving: Callable[..., Running]) -> None:
    served = serving(hosts=("tamis.example",))
    assert served.client(Host="Tamis.Example:443").get("/ping").status_code == 200
    problem(served.client(Host="other.example").get("/ping"), 421, "invalid")


# --- cookies and other people's pages ------------------------------------------------------------------------


def with_cookie(served: Running, **headers: str) -> httpx2.Client:
    return served.client(Cookie=f"{COOKIE}={served.token('admin')}", **headers)


def test_a_cookie_is_enough_to_look(served: Running) -> None:
    assert with_cookie(served).get("/v1/subscriptions").status_code == 200
    assert with_cookie(served, Origin="https://evil.example").get("/v1/subscriptions").status_code == 200


BODY = {"condition": "a = 1"}


def test_a_page_of_ours_may_change_something_with_it(served: Running) -> None:
    for headers in ({}, {"Sec-Fetch-Site": "same-origin"}):
        client = with_cookie(served, Origin=served.url, **headers)
        assert client.post("/v1/subscriptions", json=BODY).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://["},
        {"Origin": "OURS", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "OURS", "Sec-Fetch-Site": "same-site"},
        {"Origin": "OURS", "Sec-Fetch-Site": "none"},
        {"Origin": "OURS.evil.example"},
        {"Origin": "http://evil.example/OURS"},
        {"Origin": "ftp://OURS"},
    ],
)
def test_a_page_of_others_may_not(served: Running, headers: dict[str, str]) -> None:
    given = {name: value.replace("OURS", served.url) for name, value in headers.items()}
    problem(with_cookie(served, **given).post("/v1/subscriptions", json=BODY), 403, "forbidden")


def test_a_token_in_a_header_was_put_there_on_purpose(served: Running) -> None:
    client = served.client(served.token("admin"), Origin="https://evil.example")
    assert client.post("/v1/subscriptions", json=BODY).status_code == 201


# --- sizes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/events", "/v1/subscriptions", "/v1/subscriptions/import", "/v1/tokens"])
def test_a_body_has_a_limit_also_when_it_does_not_say_how_long_it_is(
    small: Running, admin: httpx2.Client, path: str
) -> None:
    problem(admin.post(path, content=b"x" * 2_001, headers=JSON), 413, "invalid")

    def parts() -> Iterator[bytes]:
        for _ in range(21):
            yield b"x" * 100

    problem(admin.post(path, content=parts(), headers=JSON), 413, "invalid")
    assert admin.post(path, content=b"x" * 1_000, headers=JSON).status_code == (200 if "import" in path else 422)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    from tests.service.api.running import running

    with running(tmp_path_factory.mktemp("small"), request_bytes=2_000) as made:
        yield made


@pytest.fixture
def admin(small: Running) -> httpx2.Client:
    return small.client(small.token("admin"))


# --- one shape of errors -------------------------------------------------------------------------------------


def test_what_is_not_there_is_a_problem(tenant: Tenant) -> None:
    problem(tenant.admin.get("/v1/nothing"), 404, "not-found")
    problem(tenant.admin.get("/nothing"), 404, "not-found")
    problem(tenant.admin.get("/redoc"), 404, "not-found")  # it would load scripts from elsewhere
    answer = tenant.admin.delete("/v1/events")
    problem(answer, 405, "invalid")
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "[" * 100_000, "\xff", '"\\ud800"'])
def test_a_body_that_is_none_is_a_problem(tenant: Tenant, content: str) -> None:
    answer = tenant.subscribe.post("/v1/subscriptions", content=content.encode("latin-1"), headers=JSON)
    problem(answer, answer.status_code, "invalid")
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize("path", ["/v1/subscriptions/%00", "/v1/events?type=%00", "/v1/subscriptions?search=a%00"])
def test_no_name_has_a_zero(tenant: Tenant, path: str) -> None:
    problem(tenant.admin.get(path), 422, "invalid")


def test_a_mistake_of_the_service_is_a_problem_without_details_and_is_counted(
    served: Running, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        msg = "secret detail"
        raise ValueError(msg)

    monkeypatch.setattr(served.service.accounts, "tokens", fail)
    with caplog.at_level(logging.INFO):
        said = problem(tenant.admin.get("/v1/tokens"), 500, "internal")
    assert "secret" not in json.dumps(said)
    assert 'route="/v1/tokens",status="500"} 1.0' in served.client().get("/metrics").text
    assert "secret detail" in caplog.text


def test_a_database_that_does_not_answer_is_no_mistake(
    served: Running, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tamis.sql.database import DatabaseError

    def fail(*_: object, **__: object) -> None:
        msg = "postgresql://somewhere: gone"
        raise DatabaseError(msg)

    monkeypatch.setattr(served.service.feed, "after", fail)
    answer = tenant.subscribe.get("/v1/notifications")
    assert "somewhere" not in problem(answer, 503, "unavailable")["detail"]
    assert answer.headers["retry-after"]


def test_nothing_is_kept_by_caches_or_taken_for_something_else(tenant: Tenant) -> None:
    for path in ("/v1/subscriptions", "/v1/nothing", "/ping"):
        headers = tenant.subscribe.get(path).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_half_a_request_does_no_harm(served: Running) -> None:
    address = httpx2.URL(served.url)
    with socket.create_connection((address.host, address.port or 80), DEADLINE_SECONDS) as connection:
        connection.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    assert served.client().get("/ping").status_code == 200
