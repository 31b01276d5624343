"""A page of a list: its items and where the list goes on."""

from __future__ import annotations

from tamis.client.calls.base import page
from tamis.client.models import Page, Rights, Tenant


def test_a_page_is_read_with_its_cursor() -> None:
    assert page(Tenant, {"items": [{"name": "a", "rights": {}}], "next": 4}) == Page((Tenant("a", Rights()),), 4)
    assert page(Tenant, {"items": []}) == Page((), None)
