"""Errors of requests: one class a kind, so that nobody reads messages."""

from __future__ import annotations

import pytest

from tamis.errors import TamisError
from tamis.service import errors


@pytest.mark.parametrize("kind", [errors.NotFound, errors.Conflict, errors.Unauthorized, errors.Forbidden])
def test_a_kind_is_no_other(kind: type[TamisError]) -> None:
    others = [errors.NotFound, errors.Conflict, errors.Unauthorized, errors.Forbidden, errors.QuotaExceeded]
    assert [other for other in others if isinstance(kind("why"), other)] == [kind]


def test_whoever_is_sent_away_knows_for_how_long() -> None:
    error = errors.Overloaded("busy", 2.5)
    assert (str(error), error.retry_after, error.status) == ("busy", 2.5, 503)
    assert errors.Overloaded("busy", 2.5, 429).status == 429
