"""Claims of one session: remembers where to search each list, and ends claims whose answer was lost."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, TypedDict, TypeVar

import msgspec

from rowlock import claims, leases
from rowlock.claims import ClaimedItems, ClaimRequest, Lane
from rowlock.db import BoundVerb
from rowlock.errors import OutcomeUnknown
from rowlock.outcomes import Verdict

if TYPE_CHECKING:
    from rowlock.engine.handles import Handles

SEARCH_SECONDS = 1.0
"""How often a list is searched from its beginning for gaps."""
MAX_SEARCH_SHARE = 0.05
"""The share of the time that searches may take: while an old snapshot is open, one walks over all that was settled."""
COSTLY_SEARCH_SECONDS = MAX_SEARCH_SHARE * SEARCH_SECONDS
MAX_LISTS = 10_000
"""Lists with hints; those that are forgotten are searched again."""
MAX_TRIES = 3
"""How often a claim is tried whose answer is lost each time."""
T = TypeVar("T")
Verdicts = list[Verdict] | None
"""The verdicts of a settlement in a pipeline; None if it wrote nothing and must be repeated alone."""


class ClaimTerms(TypedDict):
    """How much to claim of a list, and how often an item may fail under the claim."""

    limit: int
    attempts: int | None


class ListHints(msgspec.Struct):
    """How far one list was seen, and what was last known of it."""

    gate: int = 0
    floors: dict[int, int] = {}
    """The last position that was claimed, by priority."""
    lane: Lane | None = None
    """The only lane of the list, if nothing else matters to a claim."""
    limited: bool = False
    """Whether the list has limits: then only a thorough claim finds anything."""
    searched_at: float = -inf
    search_seconds: float = 0.0
    """How long the last search took."""

    def is_fresh(self, now: float) -> bool:
        """Return whether the list was searched for gaps within the last second, or longer if that takes long."""
        return now - self.searched_at < max(SEARCH_SECONDS, self.search_seconds / MAX_SEARCH_SHARE)

    @property
    def is_costly(self) -> bool:
        """Whether the last search took long."""
        return self.search_seconds > COSTLY_SEARCH_SECONDS

    def note_search(self, start: float, end: float) -> None:
        """Note when the list was searched for gaps."""
        self.searched_at, self.search_seconds = end, end - start

    def remember(self, claimed: ClaimedItems) -> None:
        """Note how far the list was seen, and what it is like. Each gate has its own positions."""
        if claimed.gate != self.gate:
            self.gate, self.floors = claimed.gate, {}
        self._raise_floor(claimed.priority, claimed.high)
        if self.is_costly:
            # Nothing was found in more urgent lanes: what is committed late there waits for the next search.
            for priority in range(claimed.priority):
                self._raise_floor(priority, claimed.low)
        self.lane, self.limited = claimed.lane, claimed.limited

    def _raise_floor(self, priority: int, position: int) -> None:
        self.floors[priority] = max(self.floors.get(priority, 0), position)


class ClaimHints(dict[str, ListHints]):
    """Hints per list, keyed by name. They save walking over settled items; a wrong one costs a search."""

    def __missing__(self, name: str) -> ListHints:
        if len(self) >= MAX_LISTS:
            self.clear()
        hints = self[name] = ListHints()
        return hints


class Claimer:
    """Claims for one session, from where it has seen each list, and ends claims whose answers were lost.

    With `server_searches` a claim is a request to a server, which searches the whole list if it must.
    """

    def __init__(self, runner: "Handles", session: str, *, heartbeat: bool, server_searches: bool) -> None:
        self._runner = runner
        self._session = session
        # Without a heartbeat nobody knows whether the session will claim again: it keeps an exclusive list only while
        # it holds a claim on it.
        self._keep = leases.KEEP_IDLE_MILLISECONDS if heartbeat else 0
        self.server_searches = server_searches
        self._hints = ClaimHints()
        self._lost: set[str] = set()
        """Tokens of claims whose answers were lost: the database may hold them, though no caller got the items.

        Threads and tasks may share a session, so a claim that is under way is known to its own caller alone.
        """

    def claim(
        self, name: str, *, limit: int, attempts: int | None = None, thorough: bool = False
    ) -> ClaimedItems | None:
        """Claim the next items after the frontier, or anywhere if there are none or the last search is a second old."""
        request = self._request(name, limit=limit, attempts=attempts)
        if self.server_searches:
            return self._runner.run(claims.take, request)  # its token makes it harmless to repeat
        claimed, hints = None, self._hints[name]
        if not thorough and self.can_skip_search(name):
            claimed = self._try(claims.take, request)
        if claimed is None:
            start = self._runner.environment.monotonic()
            claimed = self._try(claims.take_thoroughly, request)
            hints.note_search(start, self._runner.environment.monotonic())
        if claimed is not None:
            hints.remember(claimed)
        return claimed

    def claim_several(self, wanted: Mapping[str, ClaimTerms]) -> dict[str, ClaimedItems | None]:
        """Search lists in one transaction until the first one's limit is used up; return what each has given.

        Lists that were not searched are left out.
        """
        requests = [self._request(name, **terms) for name, terms in wanted.items()]
        start = self._runner.environment.monotonic()
        taken: dict[str, ClaimedItems | None] = self._try(claims.take_of_several, requests)
        end = self._runner.environment.monotonic()
        for name, claimed in taken.items():
            hints = self._hints[name]
            hints.note_search(end - (end - start) / len(taken), end)
            if claimed is not None:
                hints.remember(claimed)
        return taken

    def sleep_empty(self, names: Sequence[str]) -> list[str]:
        """Put those of the lists to sleep that are empty, and return their names."""
        return self._runner.run(claims.sleep_empty, names)

    def settle_and_claim(
        self, settlements: Sequence[BoundVerb], name: str | None = None, *, limit: int = 1, attempts: int | None = None
    ) -> tuple[list[Verdicts], ClaimedItems | None]:
        """Settle, and claim after the frontier of a list if one is given, in one pipeline."""
        self.end_lost()
        calls, tries = list(settlements), list[str]()
        if name is not None:
            calls.append(claims.take.bind(partial(self._noted_request, tries, name, limit=limit, attempts=attempts)))
        try:
            answers = self._runner.pipeline(*calls) if calls else []
        except BaseException:
            self._lost.update(tries)
            raise
        if name is None:
            return answers, None
        self._lost.update(tries[:-1])  # the last try was answered; what earlier tries claimed remains to be ended
        *verdicts, claimed = answers
        return verdicts, claimed

    def abandon(self, claimed: ClaimedItems | None) -> None:
        """End a claim before the next one is made: the caller cannot work it."""
        if claimed is not None:
            self._lost.add(claimed.token)

    def searched_recently(self, name: str) -> bool:
        """Return whether the list was searched for gaps lately."""
        return self._hints[name].is_fresh(self._runner.environment.monotonic())

    def puts_off_search(self, name: str) -> bool:
        """Return whether a search would take long and follow too soon on the last one."""
        return self._hints[name].is_costly and self.searched_recently(name)

    def can_skip_search(self, name: str) -> bool:
        """Return whether a claim after the frontier may do: gaps were searched for, and the list has no limits."""
        return not self._hints[name].limited and self.searched_recently(name)

    def remember(self, claimed: ClaimedItems) -> None:
        """Note how far the list has been seen: a hint for the next claim."""
        self._hints[claimed.list].remember(claimed)

    def end_lost(self) -> None:
        """End the claims whose answers were lost; two threads may end the same one, which is harmless."""
        for token in self._lost.copy():
            self._runner.run(claims.close, self._session, token)
            self._lost.discard(token)

    def _try(self, verb: Callable[..., T], asked: ClaimRequest | list[ClaimRequest]) -> T:
        """Claim, and again if the answer was lost: without one it is not known whether anything was ready."""
        tries = 0
        while True:
            tries += 1
            self.end_lost()
            try:
                return self._runner.run(verb, asked)
            except BaseException as error:
                self._lost.update(each.token for each in (asked if isinstance(asked, list) else [asked]))
                if tries == MAX_TRIES or not isinstance(error, OutcomeUnknown):
                    raise
            asked = [self._renewed(each) for each in asked] if isinstance(asked, list) else self._renewed(asked)

    def _renewed(self, request: ClaimRequest) -> ClaimRequest:
        return msgspec.structs.replace(request, token=self._runner.environment.token())

    def _request(self, name: str, *, limit: int, attempts: int | None) -> ClaimRequest:
        hints, token = self._hints[name], self._runner.environment.token()
        return ClaimRequest(self._session, name, limit, token, attempts, hints.floors, self._keep, hints.lane)

    def _noted_request(self, tries: list[str], name: str, *, limit: int, attempts: int | None) -> ClaimRequest:
        # Made anew for each try of a pipeline: a try whose answer was lost may have claimed under its token.
        request = self._request(name, limit=limit, attempts=attempts)
        tries.append(request.token)
        return request
