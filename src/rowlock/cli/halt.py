"""`--halt`: end the work after so many failed attempts, in the words of GNU parallel."""

import re

import msgspec

from rowlock.cli.command_output import is_failure
from rowlock.errors import Invalid
from rowlock.outcomes import Done, Outcome

MIN_ATTEMPTS_FOR_A_SHARE = 3
_TEXT = re.compile(r"(now|soon),(fail|success|done)=([1-9][0-9]{0,11})(%?)")


class Halt(msgspec.Struct):
    """A number of attempts, or a share of all, after which the work ends."""

    at_once: bool = False
    """Whether commands that run are ended too."""
    kind: str = "fail"
    number: int = 0
    """0 for no limit."""
    is_share: bool = False
    counted: int = 0
    ended: int = 0

    def reached(self, outcome: Outcome) -> bool:
        """Count an attempt, and return whether the work is to end now, which is said once."""
        was_reached = self._is_reached
        fits = {"fail": is_failure(outcome), "success": isinstance(outcome, Done), "done": True}
        self.ended += 1
        self.counted += fits[self.kind]
        return self._is_reached and not was_reached

    @property
    def _is_reached(self) -> bool:
        if not self.is_share:
            return 0 < self.number <= self.counted
        return self.counted >= MIN_ATTEMPTS_FOR_A_SHARE and 100 * self.counted >= self.number * self.ended

    def __str__(self) -> str:
        word = {"fail": "failed", "success": "succeeded", "done": "ended"}[self.kind]
        return f"{self.counted:,} of {self.ended:,} attempts {word}"


def parse_halt(text: str | None) -> Halt:
    """Read a limit such as `soon,fail=3` or `now,fail=20%`; `never` and None are no limit."""
    if text is None or text == "never":
        return Halt()
    found = _TEXT.fullmatch(text)
    if found is None or (found[4] and int(found[3]) > 100):
        hint = "soon lets running commands finish, now ends them; the number may be a share, as in now,fail=20%"
        raise Invalid(f"halt must be like soon,fail=3, got {text[:50]!r}", hint)
    return Halt(found[1] == "now", found[2], int(found[3]), bool(found[4]))
