"""The HTTP API: requests in, answers out, nothing kept here.

A file is what one kind of thing can be asked; `app` puts them together.
"""
