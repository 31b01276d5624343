"""Candidates that depend on operators: which call is made next, and what the answers decide."""
