"""Faces: an async class made from a plain one, method by method, by how each behaves. Nothing is written twice."""

import functools
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from enum import StrEnum
from types import GenericAlias
from typing import Any, get_args, get_origin

from rowlock.aio.threads import Lane, Threads

DUNDERS = ("__enter__", "__exit__", "__getitem__", "__iter__", "__len__")
ASYNC_NAMES = {"__enter__": "__aenter__", "__exit__": "__aexit__", "__iter__": "__aiter__"}

_END = object()
_faces: dict[type, type["Face"]] = {}


class Colour(StrEnum):
    """How a method of a plain class becomes one of its face."""

    HERE = "here"
    """It asks nobody: called as it is."""
    AWAITED = "awaited"
    """It runs in a thread."""
    FINISHED = "finished"
    """It runs in a thread, also if the await is cancelled: the end of something."""
    STEPS = "steps"
    """It gives one thing after the other, each fetched in a thread: for `async for`."""
    BLOCK = "block"
    """It gives a context, with a thread of its own: for `async with`."""


class Face:
    """An async face of a plain object."""

    _plain_class: type
    _colours: dict[str, Colour]

    def __init__(self, plain: Any, threads: Threads) -> None:
        self._plain = plain
        self._threads = threads
        self._steps: set[_Steps] = set()

    @classmethod
    def over(cls, plain: Any) -> "Face":
        """The async face of what you hold already."""
        return _made(cls, plain, Threads())

    @property
    def plain(self) -> Any:
        """The plain object behind it, for code that does not await."""
        return self._plain

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._plain, name)

    def __repr__(self) -> str:
        return f"Async{self._plain!r}"

    def _shown(self, answer: Any) -> Any:
        if answer is self._plain:
            return self
        kind = _faces.get(type(answer))
        return answer if kind is None else _made(kind, answer, self._threads)


def _made(kind: type[Face], plain: Any, threads: Threads) -> Face:
    face = kind.__new__(kind)
    Face.__init__(face, plain, threads)
    return face


class _Steps:
    """A plain generator, stepped from any thread, one at a time."""

    def __init__(self, generator: Generator[Any, None, None]) -> None:
        self._generator = generator
        self._lock = threading.Lock()

    def next(self) -> Any:
        """The next thing, or the end."""
        with self._lock:
            return next(self._generator, _END)

    def close(self) -> None:
        """Go no further; waits for a step that is under way."""
        with self._lock:
            self._generator.close()


class _Block:
    """An async context around a plain one: entered, used and left on one thread."""

    def __init__(self, face: Face, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._face = face
        self._make = make
        self._inside = ExitStack()

    async def __aenter__(self) -> Any:
        around = self._face._threads.chosen()
        # A block within a block stays on its thread: so a lock that would be waited for in vain is seen.
        self._lane = around if isinstance(around, Lane) else Lane(around)
        self._own = self._lane is not around
        try:
            self._inside = await self._lane.run(self._entered)
        except BaseException:
            if self._own:
                self._lane.end()
            raise
        if self._own:
            self._lane.enter()
        kind = _faces.get(type(self._opened))
        return self._opened if kind is None else _made(kind, self._opened, self._lane)

    def _entered(self) -> ExitStack:
        with ExitStack() as stack:
            self._opened = stack.enter_context(self._make())
            return stack.pop_all()

    async def __aexit__(self, *why: Any) -> bool | None:
        try:
            return await self._lane.finish(functools.partial(self._inside.__exit__, *why))
        finally:
            if self._own:
                self._lane.leave()


def face(plain: type, *, here: Iterable[str] = (), root: bool = False) -> Any:
    """The async face of a plain class; `here` names what asks nobody; a `root` is made by users, with its threads."""
    offered = {name: member for name, member in members(plain).items() if _offered(name, member)}
    colours = {name: colour(name, member, here=here) for name, member in offered.items()}
    name = f"Async{plain.__name__}"
    body: dict[str, Any] = {"__doc__": plain.__doc__, "_plain_class": plain, "_colours": colours}
    if root:
        body["__init__"] = _constructor(plain)
    made = type(name, (Face,), body | {"__module__": "rowlock.aio", "__qualname__": name})
    _faces[plain] = made
    for each, chosen in colours.items():
        setattr(made, async_name(each, chosen), _method(made, each, chosen))
    return made


def members(plain: type) -> dict[str, Any]:
    """What a class has, and what it has from those of ours that it is made from."""
    ours = [each for each in plain.__mro__ if each.__module__.startswith("rowlock.")]
    return {name: member for each in reversed(ours) for name, member in vars(each).items()}


def async_name(name: str, chosen: Colour) -> str:
    """What a method is called on the face."""
    return name if chosen is Colour.HERE else ASYNC_NAMES.get(name, name)


def _offered(name: str, member: Any) -> bool:
    return (callable(member) or isinstance(member, property)) and (not name.startswith("_") or name in DUNDERS)


def colour(name: str, member: Any, *, here: Iterable[str]) -> Colour:
    """How a member of a plain class becomes one of its face."""
    if isinstance(member, property) or name in here or name in ("__getitem__", "__len__"):
        return Colour.HERE
    if name in ("__exit__", "close"):
        return Colour.FINISHED
    if inspect.isgeneratorfunction(inspect.unwrap(member)):
        return Colour.BLOCK if hasattr(member, "__wrapped__") else Colour.STEPS
    return Colour.STEPS if name == "__iter__" else Colour.AWAITED


def _constructor(plain: type) -> Callable[..., None]:
    @functools.wraps(plain.__init__)  # type: ignore[misc]
    def construct(self: Face, *args: Any, **kwargs: Any) -> None:
        Face.__init__(self, plain(*args, **kwargs), Threads())

    return construct


def _method(made: type[Face], name: str, chosen: Colour) -> Any:
    member = members(made._plain_class)[name]
    if isinstance(member, property):
        return property(lambda self: self._shown(getattr(self._plain, name)), doc=member.__doc__)
    method = functools.wraps(member)(_WAYS[chosen](name))
    method.__name__ = async_name(name, chosen)
    method.__qualname__ = f"{made.__name__}.{method.__name__}"
    method.__signature__ = _signature(member, chosen)  # type: ignore[attr-defined]
    return method


def _signature(member: Callable[..., Any], chosen: Colour) -> inspect.Signature:
    signature = inspect.signature(member)
    if chosen is Colour.STEPS and get_origin(signature.return_annotation) is Iterator:
        return signature.replace(return_annotation=GenericAlias(AsyncIterator, get_args(signature.return_annotation)))
    return signature


def _bound(face: Face, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
    plain_args = [_plainly(each) for each in args]
    plain_kwargs = {key: _plainly(value) for key, value in kwargs.items()}
    return functools.partial(getattr(face._plain, name), *plain_args, **plain_kwargs)


def _plainly(value: Any) -> Any:
    return value._plain if isinstance(value, Face) else value


def _place(face: Face, given: Iterable[Any]) -> Threads:
    # What is done in a transaction that was given is done on its thread.
    lanes = (value._threads for value in given if isinstance(value, Face))
    return next((lane for lane in lanes if isinstance(lane, Lane)), face._threads)


def _here(name: str) -> Callable[..., Any]:
    def call(self: Face, *args: Any, **kwargs: Any) -> Any:
        return self._shown(_bound(self, name, args, kwargs)())

    return call


def _awaited(name: str) -> Callable[..., Any]:
    async def call(self: Face, *args: Any, **kwargs: Any) -> Any:
        threads = _place(self, (*args, *kwargs.values()))
        return self._shown(await threads.run(_bound(self, name, args, kwargs)))

    return call


def _finished(name: str) -> Callable[..., Any]:
    async def call(self: Face, *args: Any, **kwargs: Any) -> Any:
        steps, end = list(self._steps), _bound(self, name, args, kwargs)

        def close() -> Any:
            # As in plain code, a loop that was left early is over before what it ran on.
            for each in steps:
                each.close()
            return end()

        try:
            return await self._threads.finish(close)
        finally:
            if "__init__" in vars(type(self)):
                self._threads.end()

    return call


def _steps(name: str) -> Callable[..., Any]:
    async def each(self: Face, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        steps = _Steps(_bound(self, name, args, kwargs)())
        self._steps.add(steps)
        try:
            while (found := await self._threads.run(steps.next)) is not _END:
                yield self._shown(found)
        finally:
            await self._threads.finish(steps.close)
            self._steps.discard(steps)

    return each


def _block(name: str) -> Callable[..., Any]:
    def block(self: Face, *args: Any, **kwargs: Any) -> _Block:
        return _Block(self, _bound(self, name, args, kwargs))

    return block


_WAYS = {
    Colour.HERE: _here,
    Colour.AWAITED: _awaited,
    Colour.FINISHED: _finished,
    Colour.STEPS: _steps,
    Colour.BLOCK: _block,
}
