"""Tokens: made once, stored hashed, refused within a second of being revoked."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from tests.conftest import Clock
from tests.waiting import WAIT_SECONDS

from rowlock import AsyncEngine, Engine, Invalid, Refused, tokens
from rowlock.environment import REAL_ENVIRONMENT
from rowlock.errors import DatabaseUnreachable, NoSuchToken, TokenRefused
from rowlock.model import to_datetime


class Reads:
    """A history that counts how often the database was asked for tokens, and can be told to break that off."""

    def __init__(self) -> None:
        self.count = 0
        self.down = False
        self.before: Callable[[], None] = lambda: None

    def __call__(self, event: dict[str, Any]) -> None:
        if (event["operation"], event["phase"]) == ("tokens.live_rows", "invoke"):
            self.count += 1
            self.before()
            if self.down:
                raise DatabaseUnreachable("it is down", "wait")


@pytest.fixture
def reads() -> Reads:
    return Reads()


@pytest.fixture
def watched(url: str, clock: Clock, reads: Reads) -> Iterator[Engine]:
    """An engine whose monotonic time is the movable clock's too."""
    environment = msgspec.structs.replace(REAL_ENVIRONMENT, monotonic=lambda: clock() / 1000)
    with Engine(url, clock=clock, environment=environment, history=reads) as engine:
        yield engine


def stored(engine: Engine) -> str:
    with engine.transaction() as tx:
        return repr([tuple(row) for row in tx.execute("select * from rowlock_tokens").fetchall()])


def test_a_new_token_lets_its_holder_in(engine: Engine) -> None:
    made = engine.tokens.create("worker", lists=["mail/"], label="laptop")
    found = engine.tokens.authenticate(made.text)
    assert (found.role, found.lists, found.label, found.id) == ("worker", ("mail/",), "laptop", made.info.id)


def test_a_token_made_elsewhere_lets_its_holder_in_at_once(watched: Engine, url: str, clock: Clock) -> None:
    watched.tokens.exist()
    with Engine(url, clock=clock) as elsewhere:
        made = elsewhere.tokens.create("viewer")
    assert watched.tokens.authenticate(made.text).id == made.info.id


def test_a_token_is_stored_only_as_its_digest(engine: Engine) -> None:
    made = engine.tokens.create("admin")
    rows = stored(engine)
    assert (made.text[3:] in rows, made.text[3:33] in rows, tokens.digest(made.text) in rows) == (False, False, True)


def test_the_text_of_a_token_is_in_no_history(url: str) -> None:
    events: list[dict[str, Any]] = []
    with Engine(url, history=events.append) as engine:
        text = engine.tokens.create("admin").text
        engine.tokens.authenticate(text)
    assert (len(events) > 2, text[3:33] in repr(events)) == (True, False)


def test_a_token_has_the_time_of_the_database(timed: Engine, clock: Clock) -> None:
    made = timed.tokens.create("viewer", expires="1h").info
    assert (made.created_at, made.expires_at) == (to_datetime(clock()), to_datetime(clock() + 3_600_000))


def test_a_token_expires_at_a_given_moment(timed: Engine, clock: Clock) -> None:
    at = to_datetime(clock() + 5000)
    assert timed.tokens.create("viewer", expires=at).info.expires_at == at


@pytest.mark.parametrize("ago", [0, 1, 10_000])
def test_a_token_that_is_over_before_it_begins_is_refused(timed: Engine, clock: Clock, ago: int) -> None:
    with pytest.raises(Invalid, match="expires must be later than now"):
        timed.tokens.create("viewer", expires=to_datetime(clock() - ago))
    assert timed.tokens.page(ended=True) == []


def test_a_mistyped_token_is_refused_without_asking_the_database(watched: Engine, reads: Reads) -> None:
    text = tokens.generate()
    with pytest.raises(TokenRefused, match="mistyped"):
        watched.tokens.authenticate(text[:-1] + ("a" if text[-1] != "a" else "b"))
    assert reads.count == 0


def test_an_unknown_token_is_refused(engine: Engine) -> None:
    engine.tokens.create("admin")
    with pytest.raises(TokenRefused, match="not known here"):
        engine.tokens.authenticate(tokens.generate())


def test_a_refusal_names_only_the_last_letters(engine: Engine) -> None:
    text = tokens.generate()
    with pytest.raises(TokenRefused) as refused:
        engine.tokens.authenticate(text)
    assert (text[:20] in str(refused.value), text[-4:] in str(refused.value)) == (False, True)


def test_a_known_token_costs_one_look_a_second(watched: Engine, reads: Reads, clock: Clock) -> None:
    text = watched.tokens.create("viewer").text
    for _ in range(20):
        watched.tokens.authenticate(text)
        clock.advance(0.1)
    assert reads.count == 2


def test_a_token_revoked_elsewhere_is_refused_within_a_second(watched: Engine, url: str, clock: Clock) -> None:
    made = watched.tokens.create("viewer")
    watched.tokens.authenticate(made.text)
    with Engine(url, clock=clock) as elsewhere:
        elsewhere.tokens.revoke(made.info.id)
    clock.advance(1)
    with pytest.raises(TokenRefused):
        watched.tokens.authenticate(made.text)


def test_a_token_revoked_here_is_refused_at_once(watched: Engine) -> None:
    made = watched.tokens.create("viewer")
    watched.tokens.authenticate(made.text)
    watched.tokens.revoke(made.info.id)
    with pytest.raises(TokenRefused):
        watched.tokens.authenticate(made.text)


def test_a_token_lives_until_its_time_and_not_longer(watched: Engine, clock: Clock) -> None:
    text = watched.tokens.create("viewer", expires="2s").text
    clock.advance(1.75)
    alive = watched.tokens.authenticate(text).live
    clock.advance(0.25)
    assert alive
    with pytest.raises(TokenRefused):
        watched.tokens.authenticate(text)


def test_a_token_that_is_remembered_expires_to_the_moment(watched: Engine, clock: Clock) -> None:
    text = watched.tokens.create("viewer", expires="0.5s").text
    watched.tokens.authenticate(text)
    remembered = watched.tokens.recall(text)
    clock.advance(0.5)
    assert (remembered is not None, watched.tokens.recall(text)) == (True, None)


def test_nothing_is_recalled_after_a_second(watched: Engine, clock: Clock) -> None:
    text = watched.tokens.create("viewer").text
    watched.tokens.authenticate(text)
    clock.advance(0.999)
    before = watched.tokens.recall(text)
    clock.advance(0.001)
    assert (before is not None, watched.tokens.recall(text)) == (True, None)


def test_while_the_database_is_down_a_token_is_believed_for_a_second_and_then_nobody(
    watched: Engine, reads: Reads, clock: Clock
) -> None:
    text = watched.tokens.create("viewer").text
    watched.tokens.authenticate(text)
    reads.down = True
    clock.advance(0.9)
    believed = watched.tokens.authenticate(text).live
    clock.advance(0.1)
    assert believed
    with pytest.raises(DatabaseUnreachable):
        watched.tokens.authenticate(text)
    with pytest.raises(DatabaseUnreachable):
        watched.tokens.exist()


def test_the_database_coming_back_lets_holders_in_again(watched: Engine, reads: Reads, clock: Clock) -> None:
    text = watched.tokens.create("viewer").text
    reads.down = True
    with pytest.raises(DatabaseUnreachable):
        watched.tokens.authenticate(text)
    reads.down = False
    clock.advance(0.001)
    assert watched.tokens.authenticate(text).live


def test_those_who_wait_while_the_database_is_down_wait_once(url: str, reads: Reads) -> None:
    looking, arrived = threading.Event(), Arrivals()
    environment = msgspec.structs.replace(REAL_ENVIRONMENT, monotonic=arrived.monotonic)
    with Engine(url, history=reads, environment=environment) as engine:
        text = engine.tokens.create("viewer").text
        reads.down = True
        reads.before = lambda: (looking.set(), arrived.wait_for(4))[0]
        told: list[str] = []
        first, *others = [threading.Thread(target=arrived.ask, args=(engine, text, told)) for _ in range(5)]
        first.start()
        looking.wait(WAIT_SECONDS)
        for thread in others:
            thread.start()
        for thread in (first, *others):
            thread.join(WAIT_SECONDS)
    assert (told, reads.count) == (["it is down"] * 5, 1)


class Arrivals:
    """Knows which threads have begun to wait for a look: they have read the time twice."""

    def __init__(self) -> None:
        self._calls: dict[int, int] = {}
        self._waiting = threading.Semaphore(0)

    def monotonic(self) -> float:
        me = threading.get_ident()
        if me in self._calls:
            self._calls[me] += 1
        if self._calls.get(me) == 2:
            self._waiting.release()
        return REAL_ENVIRONMENT.monotonic()

    def wait_for(self, others: int) -> None:
        for _ in range(others + 1):
            assert self._waiting.acquire(timeout=WAIT_SECONDS)

    def ask(self, engine: Engine, text: str, told: list[str]) -> None:
        self._calls[threading.get_ident()] = 0
        try:
            engine.tokens.authenticate(text)
        except DatabaseUnreachable as why:
            told.append(why.what)


def test_there_is_no_token_at_first(engine: Engine) -> None:
    assert (engine.tokens.exist(), engine.tokens.page()) == (False, [])


def test_that_there_is_none_is_known_for_a_second(watched: Engine, clock: Clock) -> None:
    before = watched.tokens.known_absent
    watched.tokens.exist()
    known = watched.tokens.known_absent
    clock.advance(1)
    assert (before, known, watched.tokens.known_absent) == (False, True, False)


def test_where_there_was_a_token_there_always_was_one(timed: Engine, clock: Clock) -> None:
    for _ in range(3):
        timed.tokens.revoke(timed.tokens.create("viewer").info.id)
    clock.advance(91 * 86_400)
    pruned = timed.upkeep().pruned
    assert (pruned, timed.upkeep().pruned, timed.tokens.exist()) == (2, 0, True)


def test_tokens_that_are_over_are_kept_for_ninety_days(timed: Engine, clock: Clock) -> None:
    timed.tokens.create("viewer", expires="1d")
    timed.tokens.create("admin")
    clock.advance(91 * 86_400)
    assert (timed.upkeep().pruned, len(timed.tokens.page(ended=True))) == (0, 2)
    clock.advance(0.001)
    assert (timed.upkeep().pruned, [info.role for info in timed.tokens.page(ended=True)]) == (1, ["admin"])


def test_a_page_shows_live_tokens_and_on_demand_those_that_are_over(timed: Engine, clock: Clock) -> None:
    for label in ("one", "two", "three"):
        timed.tokens.create("viewer", label=label, expires="1h" if label == "two" else None)
    timed.tokens.revoke(timed.tokens.page()[0].id)
    clock.advance(3600)
    assert [info.label for info in timed.tokens.page()] == ["three"]
    assert [(info.label, info.live) for info in timed.tokens.page(ended=True)] == [
        ("one", False),
        ("two", False),
        ("three", True),
    ]


def test_pages_go_on_after_a_token(engine: Engine) -> None:
    made = [engine.tokens.create("viewer").info.id for _ in range(3)]
    assert [info.id for info in engine.tokens.page(after=made[0], limit=1)] == [made[1]]


def test_revoking_again_changes_nothing(timed: Engine, clock: Clock) -> None:
    token = timed.tokens.create("viewer").info.id
    first = timed.tokens.revoke(token)
    clock.advance(5)
    assert (first, timed.tokens.revoke(token)) == (True, False)
    assert timed.tokens.page(ended=True)[0].revoked_at == to_datetime(clock() - 5000)


@pytest.mark.parametrize("token", [7, 0, -1, 2**63, 10**40])
def test_revoking_what_is_not_there_is_an_error(engine: Engine, token: int) -> None:
    with pytest.raises(NoSuchToken):
        engine.tokens.revoke(token)


def test_the_last_use_is_noted_about_once_a_minute(watched: Engine, clock: Clock) -> None:
    text = watched.tokens.create("viewer").text
    noted = []
    for _ in range(4):
        watched.tokens.authenticate(text)
        noted.append(watched.tokens.note_used())
        clock.advance(30.5)
    assert (noted, watched.tokens.page()[0].last_used_at) == ([1, 0, 1, 0], to_datetime(clock() - 61_000))


def test_a_token_that_was_only_shown_in_vain_is_not_noted(engine: Engine) -> None:
    engine.tokens.create("viewer")
    with pytest.raises(TokenRefused):
        engine.tokens.authenticate(tokens.generate())
    assert (engine.tokens.note_used(), engine.tokens.page()[0].last_used_at) == (0, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "boss"},
        {"role": "admin", "lists": "mail/"},
        {"role": "worker", "lists": ""},
        {"role": "worker", "lists": ["a*b"]},
        {"role": "worker", "lists": [f"{number}" for number in range(101)]},
        {"role": "worker", "label": "two\nlines"},
        {"role": "worker", "label": "x" * 201},
        {"role": "worker", "expires": "soon"},
    ],
    ids=str,
)
def test_what_cannot_be_right_makes_no_token(engine: Engine, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        engine.tokens.create(**wrong)
    assert engine.tokens.page(ended=True) == []


def test_a_star_at_the_end_of_a_prefix_says_the_same(engine: Engine) -> None:
    assert engine.tokens.create("worker", lists=["mail/*", "mail/"]).info.lists == ("mail/",)


def test_there_are_not_more_tokens_than_can_be_held(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_LIVE_TOKENS", 2)
    first = engine.tokens.create("viewer").info.id
    engine.tokens.create("viewer")
    with pytest.raises(Refused, match="2 live tokens already"):
        engine.tokens.create("viewer")
    engine.tokens.revoke(first)
    assert engine.tokens.create("viewer").info.live


def test_tokens_are_awaited_by_the_async_face(url: str) -> None:
    import asyncio

    async def made_and_shown() -> str:
        async with AsyncEngine(url) as engine:
            made = await engine.tokens.create("operator")
            return (await engine.tokens.authenticate(made.text)).role

    assert asyncio.run(made_and_shown()) == "operator"
