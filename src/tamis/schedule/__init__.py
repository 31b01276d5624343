"""The schedule of a batch: which events are answered first, in parts of how many, and how long each waited.

Nothing here finds pairs, and no pair depends on anything here: a schedule changes when an answer is ready, never
what it says.
"""
