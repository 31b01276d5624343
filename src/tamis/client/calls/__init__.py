"""What the service can be asked, each call described once.

A function here makes the description of a request and of how its answer is read; it sends nothing. The clients,
one that waits and one that does not, have them as methods, with these arguments and these words.
"""

from tamis.client.calls.base import ApiCall, Listing

__all__ = ["ApiCall", "Listing"]
