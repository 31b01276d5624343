"""A bench measures what it is asked for once, and leaves out sizes that would not fit into its budget."""

from __future__ import annotations

from tamis.lab.claims.bench import Bench
from tamis.lab.measuring.contestants import auction


def test_sizes_are_picked() -> None:
    assert [Bench(size).pick(1, 2, 3) for size in ("smallest", "small", "full")] == [1, 2, 3]


def test_what_several_rows_need_is_made_once() -> None:
    bench = Bench("smallest")
    made: list[int] = []
    for _ in range(2):
        bench.once("key", lambda: made.append(1))
    assert made == [1]


def test_a_size_that_does_not_fit_is_left_out_with_a_note() -> None:
    bench = Bench("smallest", budget=0.0)
    assert list(bench.within_budget((10, 20, 40))) == [10]
    assert bench.left_out() == "the largest size that fits is 10"
    bench.begin()
    assert bench.left_out() == ""
    assert list(Bench("smallest").within_budget((10, 20, 40))) == [10, 20, 40]


def test_clocks_have_five_rounds_but_where_only_the_row_is_tried() -> None:
    assert [Bench(size).lab.effort.rounds for size in ("smallest", "small", "full")] == [1, 5, 5]
    assert min(Bench(size).lab.effort.changes for size in ("small", "full")) == 5


def test_points_are_those_of_the_seed() -> None:
    one, other = (Bench("smallest", seed) for seed in (1, 2))
    texts = [bench.lab.data(auction(), 5, 1).workload.conditions.to_pylist() for bench in (one, other)]
    assert texts[0] != texts[1]
    curve = one.curve(auction(), (20, 30), ("hits",))
    assert [curve[count]["hits"].subscriptions for count in curve] == [20, 30]
