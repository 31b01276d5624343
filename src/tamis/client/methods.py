"""Descriptions of calls as methods of both clients: same arguments, same words."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from tamis.client.calls import ApiCall, Listing

if TYPE_CHECKING:
    from tamis.client.async_client import AsyncClient
    from tamis.client.sync_client import Client

P = ParamSpec("P")
T = TypeVar("T")


class CallMethod(Generic[P, T]):
    """A method that sends a call: `Client` gives its result, `AsyncClient` something to await."""

    def __init__(self, describe: Callable[P, ApiCall[T]]) -> None:
        def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self.send(describe(*args, **kwargs))

        self._method = describe_as(describe, method, "{0}")

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...

    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...

    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Callable[..., Any]:
        return self._method if client is None else MethodType(self._method, client)


class ListingMethod(Generic[P, T]):
    """A method that gives the items of all pages, one after the other."""

    def __init__(self, describe: Callable[P, Listing[T]]) -> None:
        def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._items(describe(*args, **kwargs))

        self._method = describe_as(describe, method, "Iterator[{0}] | AsyncIterator[{0}]")

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, AsyncIterator[T]]: ...

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...

    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Callable[..., Any]:
        return self._method if client is None else MethodType(self._method, client)


def describe_as(describe: Callable[..., Any], method: Callable[..., Any], returns: str) -> Callable[..., Any]:
    """Give the method the name, the words and the arguments of the function that describes its call."""
    signature = inspect.signature(describe)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__name__ = describe.__name__
    method.__doc__ = describe.__doc__
    inner = str(signature.return_annotation).partition("[")[2].removesuffix("]")
    shown = signature.replace(
        parameters=[itself, *signature.parameters.values()], return_annotation=returns.format(inner)
    )
    method.__signature__ = shown  # type: ignore[attr-defined]
    return method
