"""Composite subscriptions: sequences, sets and numbers of events, and the absence of an event."""
