"""The compiled part of `dynamic`: posting lists, hit counters, the interval index, predicates and terms."""
