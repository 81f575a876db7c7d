"""Roles: each may do all that those before it may; prefixes hold a token to some lists."""

import pytest

from rowlock.errors import Invalid
from rowlock.roles import Role, allows, covers, read_role, within, without_covered

MAY = {
    None: "anybody",
    Role.VIEWER: "anybody viewer",
    Role.WORKER: "anybody viewer worker",
    Role.OPERATOR: "anybody viewer worker operator",
    Role.ADMIN: "anybody viewer worker operator admin",
}


@pytest.mark.parametrize("role", MAY)
def test_a_role_may_do_this_and_no_more(role: Role | None) -> None:
    assert [str(need or "anybody") for need in (None, *Role) if allows(role, need)] == MAY[role].split()


def test_an_unknown_role_is_refused_with_the_nearest() -> None:
    with pytest.raises(Invalid, match="did you mean worker"):
        read_role("worke")


@pytest.mark.parametrize(
    ("prefixes", "name", "covered"),
    [
        ((), "anything", True),
        (("a/",), "a/b", True),
        (("a/",), "a", False),
        (("a",), "ab", True),
        (("a", "b/"), "b/c", True),
        (("a", "b/"), "c", False),
    ],
)
def test_a_prefix_covers_the_names_that_begin_with_it(prefixes: tuple[str, ...], name: str, covered: bool) -> None:
    assert covers(prefixes, name) is covered


@pytest.mark.parametrize(
    ("inner", "outer", "is_within"),
    [
        ((), (), True),
        (("a",), (), True),
        ((), ("a",), False),
        (("a/b", "a/c"), ("a/",), True),
        (("a/b", "c"), ("a/",), False),
        (("a",), ("a/",), False),
    ],
)
def test_one_set_of_prefixes_lies_within_another(
    inner: tuple[str, ...], outer: tuple[str, ...], is_within: bool
) -> None:
    assert within(inner, outer) is is_within


def test_prefixes_are_told_apart() -> None:
    assert without_covered(["b/", "a", "ab", "a/", "c"]) == ["a", "b/", "c"]
