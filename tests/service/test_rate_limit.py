"""A token bucket: so much in a second, and no more saved up."""

from __future__ import annotations

import pytest

from tamis.service.rate_limit import TokenBucket


def test_a_bucket_lets_so_much_through_in_a_second() -> None:
    bucket = TokenBucket(10, now=0.0)
    assert [bucket.take(1, now=0.0) for _ in range(10)] == [0.0] * 10
    assert bucket.take(1, now=0.0) > 0
    assert bucket.take(1, now=0.1) == 0.0
    assert bucket.take(1, now=0.1) > 0


def test_a_large_request_is_taken_and_the_next_one_waits_for_it() -> None:
    bucket = TokenBucket(10, now=0.0)
    assert bucket.take(50, now=0.0) == 0.0
    assert bucket.take(1, now=0.0) == pytest.approx(4.0)
    assert bucket.take(1, now=4.1) == 0.0


def test_what_is_not_used_is_not_saved_up_for_more_than_a_second() -> None:
    bucket = TokenBucket(2, now=0.0)
    assert [bucket.take(1, now=1_000.0) > 0 for _ in range(3)] == [False, False, True]
