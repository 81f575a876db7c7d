"""A claim in a user's hands: items to be done, each with one outcome, written together."""

from collections.abc import Iterator
from typing import Any

from rowlock import claims, settlements
from rowlock.attempts import Policy, resolve
from rowlock.durations import Duration
from rowlock.engine.runner import Runner
from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, Retry, Verdict, of_exception, read
from rowlock.world import World


class Claim:
    """An interval of a list, held by a session: iterate over its items and say how each turn ended.

    What was said is written by `settle`, or at the end of a with block, in one transaction; what nothing was said of
    is handed back.
    """

    def __init__(
        self,
        runner: Runner,
        session: str,
        taken: claims.Taken,
        *,
        rules: Policy,
        plain: bool,
        holder: str,
        world: World,
    ) -> None:
        self._runner = runner
        self._session = session
        self._rules = rules
        self._plain = plain
        self._holder = holder
        self._world = world
        self._said: dict[int, Outcome] = {}
        self._handed = {item.position for item in taken.items}
        self.taken = taken
        self.settled = False

    @property
    def token(self) -> str:
        """The claim's name: a fence that never comes twice."""
        return self.taken.token

    @property
    def items(self) -> list[Item]:
        """The items handed out, in line."""
        return list(self.taken.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.taken.items)

    def __len__(self) -> int:
        return len(self.taken.items)

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()

    def done(self, item: Item, result: Any = None) -> None:
        """It succeeded."""
        self.say(item, Done(result))

    def retry(self, item: Item, why: str | BaseException = "", *, after: Duration | None = None) -> None:
        """It failed and shall be tried again, after the list's backoff or the given while."""
        failed = of_exception(why) if isinstance(why, BaseException) else Retry(why)
        self.say(item, Retry(failed.error, after, kind=failed.kind))

    def fail(self, item: Item, why: str | BaseException = "") -> None:
        """It gave up, whatever attempts are left."""
        failed = of_exception(why) if isinstance(why, BaseException) else Retry(why, kind="fail")
        self.say(item, Fail(failed.error, failed.kind))

    def move(
        self, item: Item, gate: int | str | None = None, *, data: Any = UNCHANGED, until: str | None = None
    ) -> None:
        """On to another gate, with new data if given; not before the list `until` is complete."""
        self.say(item, Move(gate, data, until=until))

    def say(self, item: Item, outcome: Outcome) -> None:
        """Note an item's outcome; the last word counts. Written by `settle`."""
        if item.position not in self._handed:
            raise Invalid(f"{item.key!r} was not handed out under this claim", "settle it under its own")
        self._said[item.position] = resolve(read(outcome), item.attempts, self._rules, self._world.random)

    def settle(self, *, using: Any = None, close: bool = True) -> dict[str, Verdict]:
        """Write what was said, in one transaction or in yours, and end the claim; the verdict by key.

        StaleClaim if the session was lost meanwhile: then nothing is written, not even in your transaction. Without
        `close` what nothing was said of stays claimed, and is settled through `Session.held`.
        """
        if self.settled:
            return {}
        runner = self._runner if using is None else self._runner.join(using)
        verdicts = self._settle(runner, close=close or len(self._said) == len(self._handed))
        self.settled = True
        keys = {item.position: item.key for item in self.taken.items}
        return {keys[position]: verdict for position, verdict in zip(self._said, verdicts, strict=True)}

    def _settle(self, runner: Runner, *, close: bool) -> list[Verdict]:
        if not self._said:
            if close:
                runner.run(claims.close, self._session, self.token)
            return []
        settling = list(self._said.items())
        return runner.run(settlements.settle, self._session, self.token, settling, holder=self._holder, close=close)

    def _plainly_done(self) -> bool:
        """Whether all of it was said to be done and nothing is to be kept: then a trip can settle it."""
        whole = self._plain and not self.settled and len(self._said) == len(self._handed)
        return whole and settlements.plainly_done(self._said.values())

    def _all_done(self) -> settlements.AllDone:
        """The settlement as a piece of a trip."""
        return settlements.AllDone(self._session, self.token, list(self._said))
