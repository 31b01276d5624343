"""What tests look at inside of a matcher."""

from __future__ import annotations

from tamis import Matcher
from tamis.segments.collection import SegmentCollection
from tamis.segments.segment import LiveSegment


def segments_of(matcher: Matcher) -> tuple[LiveSegment, ...]:
    """The segments of a matcher, with what was added lately in one of them."""
    assert isinstance(matcher._collection, SegmentCollection)
    return matcher._collection.flush().segments
