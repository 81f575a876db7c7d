"""The checker of histories sees each kind of mistake: hand-made histories, one for each rule."""

import json
from itertools import count
from typing import Any

from tests.histories.checker import State, check
from tests.histories.reading import Event

BEATS = {"expiry": 10_000}


class Story:
    """Writes a history by hand: each call at its own second."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.numbers = count(1)

    def call(self, operation: str, *args: Any, answer: Any = None, end: str = "ok", **options: Any) -> None:
        """Write a call and its end; with another end than ok, its answer is an error's code."""
        number = next(self.numbers)
        who = {"operation": operation, "process": 1, "thread": 1, "call": number}
        self.events.append({"at": number, "phase": "invoke", "arguments": {"args": list(args), **options}, **who})
        result = {"answer": answer} if end == "ok" else {"code": answer}
        self.events.append({"at": number + 0.5, "phase": end, **result, **who})

    def add(self, *keys: str, gate: int = 0, delay: int = 0) -> None:
        """Add items; the delay is in milliseconds."""
        batch = {"count": len(keys), "json": json.dumps(keys), "same": {"gate": gate, "delay": delay}}
        self.call("items.add", "work", [batch], answer={"added": len(keys), "existing": 0})

    def open(self, *sessions: str) -> None:
        """Open sessions."""
        for session in sessions:
            self.call("sessions.open_session", session, **BEATS)

    def take(self, token: str, session: str, gate: int = 0, **items: tuple[int, int]) -> None:
        """Claim items: the position and the attempts of each key."""
        rows = [{"key": key, "position": at, "attempts": attempts} for key, (at, attempts) in items.items()]
        request = {"session": session, "list": "work", "token": token}
        answer = {"token": token, "list": "work", "gate": gate, "items": rows, "exclusive": "x" in token}
        self.call("claims.take_thoroughly", request, answer=answer)

    def settle(self, token: str, session: str, position: int, verdict: str = "done", *, end: str = "ok") -> None:
        """Settle an item."""
        answer = [verdict] if end == "ok" else verdict
        self.call("settlements.settle", session, token, [[position, {"type": "said"}]], answer=answer, end=end)

    def wrong(self, **state: Any) -> list[str]:
        """What the checker sees."""
        return check(self.events, State(**state))


def begun() -> Story:
    """Two items, two sessions, and a claim of the first item."""
    story = Story()
    story.add("a", "b")
    story.open("s", "r")
    story.take("t", "s", a=(1, 0))
    return story


def test_a_good_history_has_no_mistake() -> None:
    story = begun()
    story.settle("t", "s", 1)
    story.take("u", "r", b=(2, 0))
    story.settle("u", "r", 2)
    progress = {"added": 2, "done": 2, "abandoned": 0}
    assert story.wrong(present=0, keys=set(), progress=progress, counters={}) == []


def test_a_settlement_after_another_claim_got_the_item_is_seen() -> None:
    story = begun()
    story.call("sessions.close", "s")
    story.take("u", "r", a=(1, 0))
    story.settle("t", "s", 1)
    assert story.wrong() == ["position 1 was settled under t after u had it"]


def test_live_work_that_is_given_away_is_seen() -> None:
    story = begun()
    story.take("u", "r", a=(1, 0))
    assert story.wrong() == ["position 1 of the live claim t was given to u"]


def test_work_of_a_session_that_was_silent_may_be_given_away() -> None:
    story = begun()
    for _ in range(6):
        story.call("lists.page", answer=[])
    story.take("u", "r", a=(1, 0))
    assert story.wrong() == []


def test_an_item_that_is_handed_out_after_it_was_done_is_seen() -> None:
    story = begun()
    story.settle("t", "s", 1)
    story.take("u", "r", a=(1, 0))
    assert story.wrong() == ["position 1 was handed out under u after it was settled"]


def test_a_repeated_settlement_that_is_refused_is_seen() -> None:
    story = begun()
    story.settle("t", "s", 1)
    story.settle("t", "s", 1, "stale-claim", end="no")
    assert story.wrong() == ["the settlement of t was refused after it had landed"]


def test_a_session_that_lives_again_is_seen() -> None:
    story = begun()
    story.call("sessions.beat", "s", answer=False, **BEATS)
    story.call("sessions.beat", "s", answer=True, **BEATS)
    assert story.wrong() == ["the session s was told that it lives after it had ended"]


def test_an_exclusive_list_in_two_hands_is_seen() -> None:
    story = begun()
    story.take("x", "s", a=(3, 0))
    story.take("x2", "r", b=(2, 0))
    assert story.wrong() == ["x2 was given of the exclusive list 'work' while x was live"]


def test_more_in_hand_than_the_limit_says_is_seen() -> None:
    story = Story()
    story.call("lists.change_settings", "work", {"concurrency": 1})
    story.events += begun().events
    story.take("u", "r", b=(2, 0))
    assert "2 items of 'work' were in hand when u was made" in story.wrong()


def test_an_attempt_that_is_not_counted_is_seen() -> None:
    story = begun()
    story.settle("t", "s", 1, "retried")
    story.take("u", "r", a=(3, 0))
    assert story.wrong() == ["the attempts of 'a' are 0 and must be 1 or more"]


def test_a_gate_that_opens_too_early_is_seen() -> None:
    story = begun()
    story.add("c", gate=1)
    story.take("u", "r", gate=1, c=(3, 0))
    assert story.wrong()[0] == "gate 1 was open while 'a' was left at gate 0"


def test_numbers_that_come_twice_or_backwards_are_seen() -> None:
    story = Story()
    for numbers in ("range(1, 3)", "range(5, 6)", "range(3, 4)", "range(2, 3)"):
        story.call("counters.take", "n", answer=numbers)
    assert story.wrong() == [
        "the counter 'n' gave 2 twice",
        "the counter 'n' gave 3 before 2",
        "the counter 'n' gave 5 before 3",
    ]


def test_a_gap_is_seen_unless_an_answer_was_lost() -> None:
    story = Story()
    story.call("counters.take", "n", answer="range(1, 2)")
    assert story.wrong(counters={"n": 2}) == ["the counter 'n' is at 2; 1 numbers were given and 0 may have been"]
    story.call("counters.take", "n", answer="outcome-unknown", end="unknown")
    assert story.wrong(counters={"n": 2}) == []


def test_a_lost_item_is_named() -> None:
    assert begun().wrong(keys={"b"}) == ["the item 'a' was added and is lost"]


def test_an_item_that_is_there_after_it_was_done_is_named() -> None:
    story = begun()
    story.settle("t", "s", 1)
    assert story.wrong(keys={"a", "b"}) == ["the item 'a' was done and is there"]


def test_tallies_that_differ_from_the_answers_are_seen() -> None:
    progress = {"added": 2, "done": 1, "abandoned": 0}
    assert begun().wrong(progress=progress) == ["the tallies say 1 done; 0 were answered and 0 may have been"]


def test_what_a_transaction_wrote_counts_when_it_commits() -> None:
    story = Story()
    work = {"verb": "counters.take", "args": ["n"], "kwargs": {}, "answer": "range(1, 2)"}
    story.call("transaction", works=[work], answer=["range(1, 2)"])
    story.call("counters.take", "n", answer="range(1, 2)")
    assert story.wrong()[0] == "the counter 'n' gave 1 twice"


def test_a_delayed_item_that_is_handed_out_early_is_seen() -> None:
    story = Story()
    story.add("a", delay=60_000)
    story.open("s")
    story.take("t", "s", a=(1, 0))
    early = ["the item 'a' was handed out under t 57.5 seconds before it was due"]
    assert (story.wrong(steady_clock=True), story.wrong()) == (early, [])


def test_a_retried_item_that_is_handed_out_early_is_seen_unless_it_was_made_ready_by_hand() -> None:
    story, helped = begun(), begun()
    for each in (story, helped):
        outcome = {"type": "retry", "after": 30}
        each.call("settlements.settle", "s", "t", [[1, outcome]], answer=["retried"])
    helped.call("items.retry", "work", ["a"], answer=1)
    for each in (story, helped):
        each.take("u", "r", a=(7, 1))
    assert len(story.wrong(steady_clock=True)) == 1
    assert helped.wrong(steady_clock=True) == []


def test_a_gate_of_one_list_says_nothing_about_another() -> None:
    story = begun()
    story.call(
        "items.add", "other", [{"count": 1, "json": '["c"]', "same": {"gate": 0}}], answer={"added": 1, "existing": 0}
    )
    story.settle("t", "s", 1)
    story.call("items.done", "work", ["b"], answer=1)
    story.add("later", gate=1)
    story.take("u", "r", gate=1, later=(5, 0))
    assert story.wrong() == []
