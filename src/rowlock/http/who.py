"""Who asks: what they are called, what they may do, and with which lists."""

import msgspec

from rowlock.roles import Role


class Who(msgspec.Struct, frozen=True):
    """Somebody who asks."""

    name: str
    role: Role
    lists: str = ""
    """The prefix of the lists that they may touch; empty for all."""


ANYBODY = Who("anybody", Role.ADMIN)
"""On loopback whoever reaches the service may do everything: they could open the file as well."""
