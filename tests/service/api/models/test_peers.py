"""The way of an event is told site by site."""

from __future__ import annotations

from datetime import UTC, datetime

from tamis.service.api.models.peers import ForwardAnswer, RouteAnswer


def _route(site: str, *forwards: ForwardAnswer) -> RouteAnswer:
    at = datetime(2026, 7, 1, tzinfo=UTC)
    return RouteAnswer(
        site=site, event="e1", path=[], accepted=at, is_matched=True, found=[], forwards=list(forwards)
    )


def test_a_route_holds_the_routes_behind_it() -> None:
    behind = ForwardAnswer(link="b", entry="x > 1", is_sent=True, outcome="useful", there=_route("b"))
    route = RouteAnswer.model_validate_json(_route("a", behind).model_dump_json())
    assert [each.there.site for each in route.forwards if each.there is not None] == ["b"]
