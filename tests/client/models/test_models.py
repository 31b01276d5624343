"""Every record is frozen, and every field of it has a type that answers are checked against."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from tamis.client import models
from tamis.client.decoding import decode
from tamis.client.errors import ClientError


@pytest.mark.parametrize("name", [name for name in models.__all__ if name != "Page"])
def test_a_record_is_frozen_and_misses_nothing_silently(name: str) -> None:
    kind: Any = getattr(models, name)
    first = fields(kind)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(kind.__new__(kind), first, 1)
    if name != "Rights":  # all of them may be left out
        with pytest.raises(ClientError, match=f"lacks {name}.{first}"):
            decode(kind, {})
