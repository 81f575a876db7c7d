"""The table of operations: each request is the parameters of its verb, and each verb has one request."""

import inspect

import pytest

from rowlock.api.operation import FROM_HEADERS, PREFIXES, Operation
from rowlock.api.operations import BY_VERB, OPERATIONS
from rowlock.client.client import DERIVED
from rowlock.http.routes import ENDPOINTS

WITH_VERB = [operation for operation in OPERATIONS if operation.verb is not None]
PLAIN = [operation for operation in WITH_VERB if operation not in ENDPOINTS]
CALLED = {verb: operation for verb, operation in BY_VERB.items() if verb not in DERIVED}


def sent(operation: Operation) -> set[str]:
    """Return the names of the parameters that a request can hold."""
    body = {operation.whole} if operation.whole else {*getattr(operation.body, "__struct_fields__", ())}
    return body | {*operation.query_type.__struct_fields__}


@pytest.mark.parametrize("operation", PLAIN, ids=lambda operation: operation.name)
def test_a_request_holds_the_parameters_of_its_verb_and_no_others(operation: Operation) -> None:
    assert sent(operation) == operation.takes.keys() - {*FROM_HEADERS, PREFIXES}


@pytest.mark.parametrize(("verb", "operation"), CALLED.items(), ids=lambda each: getattr(each, "name", ""))
def test_a_client_can_send_every_parameter_of_a_verb(verb: object, operation: Operation) -> None:
    assert callable(verb)
    _, *parameters = inspect.signature(verb).parameters
    assert {*parameters[len(operation.parameters) :]} <= sent(operation) | {*FROM_HEADERS, PREFIXES}


def test_an_operation_without_a_verb_has_a_handler() -> None:
    assert [operation.name for operation in OPERATIONS if operation.verb is None and operation not in ENDPOINTS] == []


def test_a_verb_has_one_operation() -> None:
    assert len(BY_VERB) == sum(1 + len(operation.also) for operation in WITH_VERB)
