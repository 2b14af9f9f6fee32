"""Wraps functions of every kind, so that each call lies within a context manager of its own.

Part of the library that applications import: standard library only. Knows nothing of what is counted.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any

Spans = Callable[[], AbstractContextManager[Any]]


def wrap(function: Callable[..., Any], span: Spans) -> Callable[..., Any]:
    """Enter a new span for each call: of a coroutine until it returns, of a generator until it ends or is closed."""
    if inspect.isasyncgenfunction(function):
        return functools.wraps(function)(_async_generator(function, span))
    if inspect.isgeneratorfunction(function):
        return functools.wraps(function)(_generator(function, span))
    if inspect.iscoroutinefunction(function):
        return functools.wraps(function)(_coroutine(function, span))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with span():
            return function(*args, **kwargs)

    return call


def _coroutine(function: Callable[..., Any], span: Spans) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with span():
            return await function(*args, **kwargs)

    return call


def _generator(function: Callable[..., Any], span: Spans) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with span():
            return (yield from function(*args, **kwargs))

    return call


def _async_generator(function: Callable[..., Any], span: Spans) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with span():
            async with aclosing(function(*args, **kwargs)) as items:
                async for item in items:
                    yield item

    return call
