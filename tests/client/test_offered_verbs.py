"""A client offers every verb of an engine's handles, or names the reason why not."""

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tests.house.places import documented

from rowlock import Client, Engine, engine
from rowlock.api.operations import BY_VERB
from rowlock.client.caller import NEEDS_DATABASE
from rowlock.client.client import DERIVED, RemoteTokens
from rowlock.engine import Claim, Counter, List, Schedule, Session, Tokens, Topic
from rowlock.engine.handles import Handles

HANDLES = (List, Claim, Counter, Schedule, Session, Topic, Handles)

# What an engine has and a client does not; the guide explains why.
ENGINE_ONLY = {
    "acting",
    "database",
    "dialect",
    "grouped",
    "late_transaction",
    "make_ready",
    "migrate",
    "recorded",
    "tick",
}
# Only the server authenticates tokens.
SERVER_ONLY = {"authenticate", "exist", "known_absent", "note_used", "recall"}


def verbs(kind: type) -> Iterator[Callable[..., Any]]:
    """Return the verbs that a handle runs: the first argument of `….run(lists.pause, …)`."""
    module = inspect.getmodule(kind)
    for node in ast.walk(ast.parse(inspect.getsource(kind).strip())):
        match node:
            case ast.Call(func=ast.Attribute(attr="run" | "read"), args=[ast.Attribute(ast.Name(noun), verb), *_]):
                yield getattr(getattr(module, noun), verb)


VERBS = {verb: f"{verb.__module__}.{verb.__name__}" for kind in HANDLES for verb in verbs(kind)}


def test_every_verb_of_a_handle_is_offered_or_refused_with_a_reason() -> None:
    offered = {**BY_VERB, **DERIVED}
    assert [name for verb, name in VERBS.items() if (verb in offered) == (verb in NEEDS_DATABASE)] == []


def test_a_derived_verb_takes_the_parameters_of_the_verb() -> None:
    derived = {name_of(verb): parameters(function) for verb, function in DERIVED.items()}
    assert derived == {name_of(verb): parameters(verb) for verb in DERIVED}


def name_of(verb: Callable[..., Any]) -> str:
    return f"{verb.__module__}.{verb.__name__}"


def parameters(function: Callable[..., Any]) -> list[Any]:
    """Return its parameters without the first."""
    _, *others = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in others]


def test_the_verbs_of_handles_are_found() -> None:
    assert len(VERBS) > 40
    assert "rowlock.items.add" in VERBS.values()


def test_a_client_has_what_an_engine_has() -> None:
    assert public(Engine) | {"database"} == (public(Client) - {"look", "server"}) | ENGINE_ONLY
    assert public(Tokens) == public(RemoteTokens) | SERVER_ONLY


def test_what_only_an_engine_has_is_in_the_guide() -> None:
    page = documented("guides/client.md")
    assert [name for name in ENGINE_ONLY if f"`{name}`" not in page] == []


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_the_handles_are_those_of_the_engine() -> None:
    client = Client("http://127.0.0.1:1")
    assert type(client["a"]) is List
    assert isinstance(client.session(), engine.Session)
