"""The table of operations: each request is the parameters of its verb, and each verb has one request."""

import pytest

from rowlock.api.operation import Operation
from rowlock.api.operations import BY_VERB, OPERATIONS


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_request_is_the_parameters_of_its_verb(operation: Operation) -> None:
    operation.check()


def test_a_verb_has_one_operation() -> None:
    assert len(BY_VERB) == len([operation for operation in OPERATIONS if operation.verb is not None])
