"""A path of pruning is made once a run."""

from __future__ import annotations

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner_paths import pruning_path, size_of


def test_a_path_ends_with_nothing_left_to_prune_and_is_made_once() -> None:
    bench = Bench("smallest")
    path = pruning_path(bench, "occurrence")
    assert path.shares[0] == 0
    assert path.shares[-1] == 1
    assert path.points[-1].report.removed_share == max(point.report.removed_share for point in path.points)
    assert pruning_path(bench, "occurrence", size_of(bench)) is path
