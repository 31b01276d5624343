"""The compiled part of `gryphon`: the matching tree, its updates, matching."""
