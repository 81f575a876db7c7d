"""Who asks: what they are called, what they may do, and with which lists."""

import msgspec

from rowlock.errors import NotAllowed
from rowlock.roles import MAY, Role, covers
from rowlock.tokens import TokenInfo


class Who(msgspec.Struct, frozen=True):
    """Somebody who asks."""

    name: str
    role: Role | None
    lists: tuple[str, ...] = ()
    """Prefixes of the lists that they may see and touch; none for all."""
    token: int | None = None

    def may_touch(self, name: str) -> bool:
        """Whether a list of that name is theirs to see and touch."""
        return covers(self.lists, name)

    def check(self, name: str) -> None:
        """Refuse the name of a list that is not theirs; the answer is the same whether there is one or not."""
        if not self.may_touch(name):
            what = f"this token is for lists that begin with {', '.join(self.lists)}, not for {name[:200]!r}"
            raise NotAllowed(what, "use another name, or another token")


class Credentials(msgspec.Struct, frozen=True):
    """What an application may know of who asks, in the place and the form that Starlette has for it."""

    scopes: tuple[str, ...]
    """The roles whose requests they may make; none where anybody may ask."""


CREDENTIALS = {role: Credentials(tuple(each.value for each in Role if each in may)) for role, may in MAY.items()}

NOBODY = Who("nobody", None)
"""Whoever has shown nothing."""

ANYBODY = Who("anybody", Role.ADMIN)
"""On loopback, while there are no tokens, whoever reaches the service may do all: they could open the file as well."""


def holder(info: TokenInfo) -> Who:
    """Whoever shows that token."""
    name = f"{info.label} ({info.shown})" if info.label else info.shown
    return Who(name, info.role, info.lists, info.id)
