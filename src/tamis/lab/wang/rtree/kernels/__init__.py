"""The compiled part of `rtree`: nodes, updates, bulk loading, point queries."""
