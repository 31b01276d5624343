"""Routing: generalised copies of conditions, which decide where events and subscriptions go."""
