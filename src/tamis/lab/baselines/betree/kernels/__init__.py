"""The compiled part of `betree`: nodes, insertion, deletion, matching."""
