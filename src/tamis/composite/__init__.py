"""Composite subscriptions: several events in order, all of some, so many of a kind, or one that stays away."""
