"""The compiled part of `buckets`: buckets, the attribute structures above them, and the trees of those."""
