"""Access tokens of a server."""

from collections.abc import Iterable

from rowlock import tokens
from rowlock.api.items import due_text
from rowlock.api.operation import ApiRequest
from rowlock.api.tokens import CREATE_TOKEN, CreatedToken, TokenOptions
from rowlock.client.caller import Caller
from rowlock.durations import delay_or_time
from rowlock.model import DurationOrTime
from rowlock.roles import read_role
from rowlock.tokens import NewToken, TokenInfo, check_label, read_prefixes


class RemoteTokens:
    """The access tokens of a server: made, listed, revoked. Who shows one is for the server to know."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(
        self, role: str, *, lists: str | Iterable[str] = (), label: str = "", expires: DurationOrTime | None = None
    ) -> NewToken:
        """Make a token; its text can be had here and never again. `lists` are prefixes of names, `expires` a while."""
        chosen = read_role(role)
        prefixes = read_prefixes(lists, chosen)
        check_label(label)
        until = None if expires is None else due_text(*delay_or_time(expires)) or "0s"
        options = TokenOptions(chosen, prefixes, label, until)
        # It is not sent again if no answer comes: there would be two, and nobody would know the text of the first.
        made: CreatedToken = self._caller.transport.send(CREATE_TOKEN, ApiRequest((), body=options))
        return NewToken(made.token, made.info)

    def page(self, *, after: int = 0, limit: int = 1000, ended: bool = False) -> list[TokenInfo]:
        """Tokens in the order they were made, strictly after one; with `ended` also those that are over."""
        return self._caller.run(tokens.page, after=after, limit=limit, ended=ended)

    def revoke(self, token: int) -> bool:
        """End a token by its id; whether it was not revoked already."""
        return self._caller.run(tokens.revoke, token)
