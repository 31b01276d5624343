"""The engines by name; a new one is a file or folder and a line here."""

from __future__ import annotations

from tamis.engines.base import Engine
from tamis.engines.betree import BETree
from tamis.engines.bitset import Bitset
from tamis.engines.bitslice import Bitslice
from tamis.engines.buckets import Buckets
from tamis.engines.cluster import Cluster
from tamis.engines.counting import Counting
from tamis.engines.dag import Dag
from tamis.engines.gryphon import Gryphon
from tamis.engines.hits import Hits
from tamis.engines.postings import Postings
from tamis.engines.rtree import Rtree
from tamis.engines.scan import Scan
from tamis.engines.siena import Siena

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        *(Bitslice(), Scan(), Bitset(), Postings()),
        *(Hits(), Counting(), Cluster(), Dag(), Gryphon()),
        *(Buckets(), Rtree(), BETree(), Siena()),
    )
}
"""Every engine by its name."""
