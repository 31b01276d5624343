"""The protocols of engines, as those of the product keep them."""

from __future__ import annotations

import pytest

from tamis import EventBatch
from tamis.engines import ENGINES
from tamis.engines.base import DynamicIndex, Estimating, frame_of
from tamis.frames import BatchFrame


@pytest.mark.parametrize("name", ["bitslice", "bitset", "scan"])
def test_an_engine_is_dynamic_if_its_index_is(name: str) -> None:
    engine = ENGINES[name]
    index = engine.build(())
    assert isinstance(index, DynamicIndex) == engine.dynamic
    assert isinstance(index, Estimating) == (name == "bitslice")


def test_a_batch_becomes_a_frame_and_a_frame_stays() -> None:
    batch = EventBatch.of([{"a": 1}])
    frame = frame_of(batch)
    assert isinstance(frame, BatchFrame)
    assert frame_of(frame) is frame
