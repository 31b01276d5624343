"""The kinds of leaves of a formula: ranges and NULL, patterns, elements of arrays."""
