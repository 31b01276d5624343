"""Segments: subscriptions and their index, immutable, in memory or mapped from a snapshot."""
