"""The laboratory: the systems of five papers, what they were compared with, and the data to measure them on.

One folder a paper: `jewel`, `bittner`, `liu`, `wang`, `mishra_sahni`; `baselines` has the engines that the papers
compare with, `dynamic` and `boxes` what engines share, `workloads` the generators. `docs/papers/` has a page for
each paper. The product imports nothing from here; it finds engines and orders of calls by name when somebody asks.
"""

from __future__ import annotations

ENGINES = {
    "hits": "tamis.lab.bittner.hits:Hits",
    "dag": "tamis.lab.jewel.dag:Dag",
    "buckets": "tamis.lab.mishra_sahni.buckets:Buckets",
    "rtree": "tamis.lab.wang.rtree:Rtree",
    "counting": "tamis.lab.baselines.counting:Counting",
    "cluster": "tamis.lab.baselines.cluster:Cluster",
    "gryphon": "tamis.lab.baselines.gryphon:Gryphon",
    "postings": "tamis.lab.baselines.postings:Postings",
    "betree": "tamis.lab.baselines.betree:BETree",
    "siena": "tamis.lab.baselines.siena:Siena",
}
"""Where the class of each engine is, as `module:class`, so that listing names imports nothing."""

CALL_ORDERS = dict.fromkeys(("sub-order", "sequential", "naive"), "tamis.lab.liu.call_orders:start_order")
"""Which call of an operator is made next, with the function that decides it, as `module:function`."""
