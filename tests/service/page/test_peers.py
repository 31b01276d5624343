"""The page of links."""

from __future__ import annotations

from pathlib import Path

from tests.service.api.running import running


def test_the_page_shows_links_to_the_operator_only(tmp_path: Path) -> None:
    with running(tmp_path, site="here", peers=("north http://127.0.0.1:9 0123456789abcdef",)) as made:
        operator = made.client(made.token("admin"))
        page = operator.get("/peers")
        assert page.status_code == 200
        assert "<strong>here</strong>" in page.text and "<td>north</td>" in page.text
        assert "0123456789abcdef" not in page.text
        assert 'class="number">Bytes in</th>' in page.text and 'class="number">Bytes out</th>' in page.text
        twin = operator.get("/peers.json").json()
        assert (twin["site"], twin["items"][0]["name"], twin["items"][0]["backlog"]) == ("here", "north", 0)
        assert (twin["items"][0]["entries_in_bytes"], twin["items"][0]["tamis"]) == (0, None)
        assert made.tenant().admin.get("/peers.json").status_code == 403
