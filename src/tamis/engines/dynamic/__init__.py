"""What engines share whose indexes change in place: predicates that come and go, and lists that grow and shrink.

All state is arrays in a few records that compiled code may replace by longer ones; nothing is ever built anew as a
whole because something was added or removed.
"""
