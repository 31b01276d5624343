"""Ids in paths: whatever they are, they come back as they are."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.service.api.running import Tenant


@pytest.mark.parametrize("id", ["a/b", "two\nlines", "\r\n", "?#%", "..", "é 😀", "a//b/"])
def test_an_event_is_found_whatever_its_id(tenant: Tenant, id: str) -> None:
    assert tenant.publish.post("/v1/events", json={"id": id}).status_code == 202
    found = tenant.subscribe.get(f"/v1/events/{quote(id, safe='').replace('..', '%2E%2E')}")
    assert (found.status_code, found.json()["id"]) == (200, id)


def test_the_description_names_it_as_any_other(tenant: Tenant) -> None:
    assert "/v1/events/{id}" in tenant.subscribe.get("/openapi.json").json()["paths"]
