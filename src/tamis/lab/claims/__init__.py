"""What five papers claim, measured: one registry of rows, one module a paper; `tamis lab claims` runs it."""
