"""What the chat application keeps to inside: versions, counts, tokens, its tables, and what is accepted is stored."""

import threading
from collections.abc import Iterator

import pytest
from tests.apps.chatting import chatting
from tests.redis_servers import RedisServer, free_port
from tests.verbs.group_commits import held

from rowlock import Engine, Item, NotFound, Refused, Worker
from rowlock.apps.chat import build
from rowlock.apps.chat.chats import Chats, CreateApplication, EditMessage, OpenChat, PostMessage
from rowlock.apps.chat.model import ChatMessage
from rowlock.apps.chat.tables import HERE, ChatTables
from rowlock.errors import Invalid, RedisUnavailable
from rowlock.testing import drain


@pytest.fixture
def tables(engine: Engine) -> ChatTables:
    made = ChatTables(engine)
    made.make()
    return made


@pytest.fixture
def behind(engine: Engine, tables: ChatTables) -> Chats:
    """Chats whose messages are accepted onto the list."""
    return Chats(engine, tables, behind=True)


def place(chats: Chats) -> tuple[str, int]:
    """A new chat: its token and what it is called inside."""
    token, _ = chats.create(CreateApplication("app"))
    chats.open(OpenChat(token))
    return token, chats.find(token, 1)


def say(chats: Chats, token: str, *bodies: str) -> list[int]:
    return [chats.post(PostMessage(token, 1, body))[0] for body in bodies]


def worker(engine: Engine, chats: Chats, batch: int = 500) -> Worker:
    made = Worker(engine)
    made.on("chat/messages", chats.messages.drain, batch=batch)
    return made


def stored(engine: Engine, tables: ChatTables, chat: int) -> list[tuple[int, str]]:
    rows = engine.read(tables.rows, "messages/page", chat=chat, after=0, limit=1000)
    return [(number, body) for number, body, _ in rows]


def test_a_token_that_is_taken_is_drawn_again(engine: Engine, tables: ChatTables) -> None:
    tokens = iter(["a", "a", "a", "b"])
    chats = Chats(engine, tables, draw=lambda: next(tokens))
    assert [chats.create(CreateApplication("app"))[0] for _ in range(2)] == ["a", "b"]


def test_an_older_version_never_replaces_a_newer_one(engine: Engine, tables: ChatTables, behind: Chats) -> None:
    token, chat = place(behind)
    say(behind, token, "first")
    for body in ("second", "third"):
        behind.edit(EditMessage(token, 1, 1, body))
    items = list(engine["chat/messages"])
    for late in (items[2:], items[:1], items[1:2], items):
        with engine.transaction() as tx:
            behind.messages.drain(late, tx)
        assert stored(engine, tables, chat) == [(1, "third")]
    assert engine.read(lambda tx: tables.rows(tx, "additions/take", limit=10)) == [(None, chat, 1), (1, None, 1)][::-1]


def test_edits_of_one_group_follow_each_other(engine: Engine, tables: ChatTables, behind: Chats) -> None:
    for chats in (behind, Chats(engine, tables)):
        token, _ = place(chats)
        say(chats, token, "first")
        with held(engine):
            asked = [chats.edit.ask(EditMessage(token, 1, 1, f"edit {number}")) for number in range(5)]
            late = chats.edit.ask(EditMessage(token, 1, 1, "too late", (0,)))
        versions = [each.result().version for each in asked]
        assert versions == sorted(set(versions))
        assert (chats.message(token, 1, number=1).body, late.exception().http_status) == ("edit 4", 412)  # type: ignore[union-attr]


def test_a_group_refuses_only_those_who_are_wrong(engine: Engine, behind: Chats) -> None:
    token, _ = place(behind)
    with held(engine):
        asked = [
            behind.post.ask(PostMessage(token, chat, "a", key=key))
            for chat, key in ((1, ""), (2, ""), (1, "k"), (3, "l"))
        ]
    answers = [each.exception() or each.result()[0] for each in asked]
    assert [type(each) is NotFound or each for each in answers] == [1, True, 2, True]


def test_what_was_accepted_is_stored_once_by_two_workers(engine: Engine, tables: ChatTables, behind: Chats) -> None:
    token, chat = place(behind)
    sent = say(behind, token, *(f"message {number}" for number in range(1, 41)))
    assert (sent, stored(engine, tables, chat)) == (list(range(1, 41)), [])
    threads = [threading.Thread(target=drain, args=(worker(engine, behind, batch=7),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stored(engine, tables, chat) == [(number, f"message {number}") for number in range(1, 41)]
    refresh(engine, behind)
    assert behind.show(token, 1).messages_count == 40


def refresh(engine: Engine, chats: Chats) -> None:
    with engine.transaction() as tx:
        chats.counts.refresh([], tx)


def test_a_drain_that_did_not_commit_has_stored_nothing(engine: Engine, tables: ChatTables, behind: Chats) -> None:
    token, chat = place(behind)
    say(behind, token, "a")
    failing = Worker(engine)

    @failing.on("chat/messages", batch=10, backoff="1h")
    def drain_and_die(items: list[Item], tx: object) -> None:
        behind.messages.drain(items, tx)  # type: ignore[arg-type]
        raise ValueError("the plug was pulled")

    drain(failing)
    assert (stored(engine, tables, chat), behind.message(token, 1, number=1).body) == ([], "a")
    engine["chat/messages"].retry([item.key for item in engine["chat/messages"]])
    drain(worker(engine, behind))
    assert stored(engine, tables, chat) == [(1, "a")]


def test_counts_grow_by_what_was_added_however_often_they_are_refreshed(engine: Engine, tables: ChatTables) -> None:
    chats = Chats(engine, tables)
    token, chat = place(chats)
    say(chats, token, "a", "b")
    refresh(engine, chats)
    seen = [chats.show(token, 1).messages_count]
    say(chats, token, "c")
    with engine.transaction() as tx:  # what was stored before arrives again, from an older turn
        chats.messages.store(tx, [ChatMessage(chat, 1, 0, "a"), ChatMessage(chat, 3, 0, "c")])
    for _ in range(2):
        refresh(engine, chats)
        seen.append(chats.show(token, 1).messages_count)
    assert (seen, chats.application(token).chats_count) == ([2, 3, 3], 1)


def test_after_the_mode_is_changed_what_is_under_way_is_still_there(
    engine: Engine, tables: ChatTables, behind: Chats
) -> None:
    token, chat = place(behind)
    say(behind, token, "one", "two")
    at_once = Chats(engine, tables)
    assert say(at_once, token, "three") == [3]
    assert at_once.edit(EditMessage(token, 1, 1, "ONE")).body == "ONE"
    drain(worker(engine, behind))
    assert stored(engine, tables, chat) == [(1, "ONE"), (2, "two"), (3, "three")]


def test_numbers_go_on_above_all_that_were_issued_whatever_was_stored(
    engine: Engine, tables: ChatTables, behind: Chats
) -> None:
    token, chat = place(behind)
    say(behind, token, *"abc")
    with Engine(
        engine.database.address.shown if engine.dialect == "sqlite" else engine.database.address.target
    ) as again:
        others = Chats(again, ChatTables(again), behind=True)
        assert (stored(engine, tables, chat), say(others, token, "d")) == ([], [4])


def test_a_number_that_is_in_use_is_never_given_to_another_message(
    engine: Engine, tables: ChatTables, behind: Chats
) -> None:
    for chats in (behind, Chats(engine, tables)):
        token, _ = place(chats)
        chats.post(PostMessage(token, 1, "mine", number=5))
        with pytest.raises(Refused):
            chats.post(PostMessage(token, 1, "another", number=5))
        assert chats.message(token, 1, number=5).body == "mine"


def test_many_processes_make_the_tables_once(engine: Engine) -> None:
    together = threading.Barrier(4)

    def make() -> None:
        together.wait()
        ChatTables(engine).make()

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [engine.counter(f"chat/{name}").show() for name in ("schema", "search")] == [1, 1]
    assert Chats(engine, ChatTables(engine)).applications(after="", limit=10) == []


def test_without_an_index_the_same_is_found(engine: Engine, tables: ChatTables) -> None:
    chats = Chats(engine, tables)
    token, chat = place(chats)
    say(chats, token, "message 1", 'a "quoted" part', "50%")
    texts = ("sage", 'a "q', "PART", "0%", "x%", "_")
    by_index = [chats.messages.search(engine, chat, text=text, after=0, limit=10) for text in texts]
    tables.has_index = False
    if engine.dialect == "postgres":
        with engine.transaction() as tx:
            tx.execute("drop index chat_messages_search")
    assert [chats.messages.search(engine, chat, text=text, after=0, limit=10) for text in texts] == by_index
    assert [[each["number"] for each in found] for found in by_index] == [[1], [2], [2], [3], [], []]


def test_the_index_is_asked_once_and_not_for_each_message(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        tables = ChatTables(engine)
        tables.make()
        asked = (HERE / "sql/messages/search_index.sqlite.sql").read_text()
        given = {"chat": 1, "text": "abc", "after": 0, "limit": 10}
        plan = engine.read(lambda tx: tx.execute(f"explain query plan {asked}", given).fetchall())
        assert [row[3].split()[:2] for row in plan][:2] == [["SCAN", "s"], ["SEARCH", "m"]]


def test_options_that_cannot_be_are_refused(engine: Engine) -> None:
    for wrong in ({"write_behind": "maybe"}, {"redis_fallback": "hope"}, {"refresh": "now and then"}, {"redis": "x"}):
        with pytest.raises(Invalid):
            build(engine, **wrong)


@pytest.fixture
def mortal() -> Iterator[RedisServer]:
    """A Redis of its own, to be treated badly."""
    server = RedisServer().start()
    yield server
    server.remove()


def test_a_redis_that_cannot_be_asked_is_a_503_or_the_databases_turn(sqlite_url: str, mortal: RedisServer) -> None:
    mortal.say("config", "set", "requirepass", "secret")
    nowhere, wrong = f"redis://127.0.0.1:{free_port()}/0", mortal.url.replace("//", "//:guess@")
    for url in (nowhere, wrong):
        with chatting(sqlite_url, redis=url) as chat:
            reply = chat("POST", f"{chat.new()}/chats")
            assert (reply.status, reply.json["code"], "guess" in reply.text) == (503, "redis-unavailable", False)
            assert reply.headers["retry-after"] == "1"
        with chatting(sqlite_url, redis=url, redis_fallback="database") as chat:
            app = chat.new()
            assert [chat.made(f"{app}/chats") for _ in range(2)] == [1, 2]


def test_a_redis_that_fills_up_or_dies_and_loses_all_repeats_no_number(sqlite_url: str, mortal: RedisServer) -> None:
    with chatting(sqlite_url, redis=mortal.url) as chat:
        app = chat.new()
        numbers = [chat.made(f"{app}/chats") for _ in range(3)]
        mortal.say("config", "set", "maxmemory", "1")
        assert chat("POST", f"{app}/chats").json["detail"].endswith("has no memory left")
        mortal.kill()
        assert chat("POST", f"{app}/chats").json["code"] == RedisUnavailable.code
        mortal.wipe()
        mortal.start()
        numbers += [chat.made(f"{app}/chats") for _ in range(3)]
        assert sorted(numbers) == [each["number"] for each in chat.get(f"{app}/chats")]
