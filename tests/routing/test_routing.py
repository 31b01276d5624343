"""The public names of routing are imported when they are first used."""

from __future__ import annotations

import pytest

from tamis import routing


@pytest.mark.parametrize("name", routing.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(routing, name).__name__ == name


def test_other_names_do_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Deals'"):
        _ = routing.Deals
