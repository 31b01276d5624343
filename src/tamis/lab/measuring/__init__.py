"""Engines on the same subscriptions and events, in turns: what claims of papers and benchmarks measure with."""
