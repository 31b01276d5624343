"""The compiled part of `dag`: nodes, insertion, deletion, and the filters."""
