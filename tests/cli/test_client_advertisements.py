"""`tamis client advertise`, `advertisements` and `withdraw` on a real service."""

from __future__ import annotations

from tests.cli.conftest import Run
from tests.client.server import Served


def test_a_publisher_advertises_and_withdraws(run: Run, served: Served) -> None:
    said = run("client", "advertise", "expensive", "price > 100")
    assert (said.code, said.out) == (0, "advertised as 'expensive' for events of type 'event'\n")
    (listed,) = run("client", "advertisements", "--json").json
    assert (listed["id"], listed["condition"], bool(listed["token"])) == ("expensive", "price > 100", True)
    assert "expensive" in run("client", "advertisements").out
    warned = run("client", "subscribe", "price < 3", "--id", "cheap")
    assert "warning: it overlaps with no advertisement" in warned.out
    assert run("client", "withdraw", "expensive").out == "withdrew 'expensive'\n"
    gone = run("client", "withdraw", "expensive")
    assert gone.code == 1 and "there is no advertisement 'expensive'" in gone.err
    assert run("client", "advertisements", "--json").json == []


def test_a_condition_that_is_refused_is_underlined(run: Run, served: Served) -> None:
    refused = run("client", "advertise", "odd", "price >")
    assert refused.code == 1 and "price >" in refused.err
