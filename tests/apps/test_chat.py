"""The chat application over HTTP: the same on both databases, messages stored at once or behind, and with Redis."""

import http.client
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from tests.apps.chatting import BASE, Chatting, by_redis_too
from tests.waiting import WAIT_SECONDS

NOBODY = "/00000000-0000-4000-8000-000000000000"


def bodies(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(each["number"], each["body"]) for each in found]


def test_a_new_application_has_a_token_and_no_chats(chat: Chatting) -> None:
    reply = chat("POST", "", {"name": "app1"})
    assert reply.status == 201
    token, moment = reply.json["token"], reply.json["as_of"]
    assert reply.json == {"name": "app1", "token": token, "chats_count": 0, "as_of": moment}
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", token)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moment)


def test_an_application_needs_a_name(chat: Chatting) -> None:
    for body in ("", "{", "[]", "{}", '{"name": " "}', '{"name": 5}', '{"name": "a\\u0000"}'):
        reply = chat("POST", "", body)
        assert (reply.status, reply.headers["content-type"]) == (400, "application/problem+json"), body
        assert reply.json["code"] in ("invalid-name", "invalid-body")


def test_a_name_is_trimmed_and_can_be_changed(chat: Chatting) -> None:
    app = chat.new("  app 1 ")
    assert chat.get(app)["name"] == "app 1"
    assert chat("PUT", app, {"name": " app 2"}).json == {"success": "ok"}
    assert (chat.get(app)["name"], chat.get(app)["token"]) == ("app 2", app[1:])
    assert (chat("PUT", app, {"name": " "}).status, chat.get(app)["name"]) == (400, "app 2")
    assert chat("PUT", app, {"name": "x" * 201}).status == 400


@by_redis_too
def test_a_token_that_nobody_has_is_not_found_and_makes_nothing(chat: Chatting) -> None:
    before = len(chat.engine.counters())
    asked = [("GET", ""), ("GET", "/chats"), ("POST", "/chats"), ("GET", "/chats/1"), ("GET", "/chats/1/messages")]
    for token in (NOBODY, "/%27%20OR%20%271%27=%271", "/%00"):
        replies = [chat(method, token + path) for method, path in asked]
        replies += [chat("PUT", token, {"name": "a"}), chat("POST", f"{token}/chats/1/messages", {"body": "a"})]
        replies += [chat("PUT", f"{token}/chats/1/messages/1", {"body": "a"})]
        replies += [chat("POST", f"{token}/chats/1/messages/search", {"body": "a"})]
        assert {(reply.status, reply.json["code"]) for reply in replies} == {(404, "not-found")}
    assert len(chat.engine.counters()) == before


def test_applications_are_listed_page_by_page_with_and_without_a_slash(chat: Chatting) -> None:
    made = [chat.new(f"listed {number}")[1:] for number in range(3)]
    assert chat.get("") == chat.get("/")
    assert [each["token"] for each in chat.get("")][-3:] == made
    reply = chat("GET", f"?after={made[0]}&count=1")
    assert [each["token"] for each in reply.json] == made[1:2]
    assert reply.headers["link"] == f'<{BASE}?after={made[1]}&count=1>; rel="next"'
    assert (chat("GET", f"?after={NOBODY[1:]}").status, chat("GET", "?after=x").status) == (404, 404)


@by_redis_too
def test_chats_are_numbered_from_one_in_each_application(chat: Chatting) -> None:
    one, other = chat.new(), chat.new()
    assert [chat.made(f"{one}/chats") for _ in range(3)] == [1, 2, 3]
    assert chat.made(f"{other}/chats", b"whatever is sent") == 1
    assert [each["number"] for each in chat.get(f"{one}/chats")] == [1, 2, 3]


@by_redis_too
def test_messages_are_numbered_from_one_in_each_chat(chat: Chatting) -> None:
    app = chat.new()
    one, other = (f"{app}/chats/{chat.made(f'{app}/chats')}/messages" for _ in range(2))
    sent = [chat.made(path, {"body": "hello"}) for path in (one, one, other)]
    assert sent == [1, 2, 1]
    assert [len(chat.get(path)) for path in (one, other)] == [2, 1]


def test_nothing_yet_is_an_empty_page_and_not_an_error(chat: Chatting) -> None:
    assert chat.get(f"{chat.new()}/chats") == []
    assert chat.get(chat.talk()) == []


def test_who_has_sent_a_message_sees_it(chat: Chatting) -> None:
    path = chat.talk()
    chat.made(path, {"body": "  Grüße 🍎\n zweite Zeile "})
    expected = {"number": 1, "body": "Grüße 🍎\n zweite Zeile"}
    assert (chat.get(f"{path}/1"), chat.get(path)) == (expected, [expected])
    chat.store()
    assert (chat.get(f"{path}/1"), chat.get(path)) == (expected, [expected])


def test_a_chat_or_message_that_is_not_there_is_refused(chat: Chatting) -> None:
    app, path = chat.new(), chat.talk()
    for number, status in (("abc", 400), ("-1", 400), ("1.0", 400), ("0", 404), ("99", 404)):
        assert chat("POST", f"{app}/chats/{number}/messages", {"body": "a"}).status == status, number
        assert chat("GET", f"{app}/chats/{number}").status == status, number
        assert chat("GET", f"{path}/{number}").status == status, number
        assert chat("PUT", f"{path}/{number}", {"body": "a"}).status == status, number
    assert chat.get(path) == []


def test_a_number_beyond_all_numbers_is_not_found(chat: Chatting) -> None:
    path = chat.talk()
    assert chat("GET", f"{path}/{2**63 - 1}").status == chat("GET", f"{path}/{95 * 10**17}").status == 404
    assert chat("GET", f"{path}/{'9' * 30}").status == 400
    assert chat.get(f"{path}?after={10**17}") == []


def test_a_message_needs_a_body(chat: Chatting) -> None:
    path = chat.talk()
    for body in ("", "nonsense", '{"body": " \\n"}', '{"body": 5}', '{"text": "a"}', '{"body": "\\u0000"}'):
        assert (chat("POST", path, body).status, chat("POST", f"{path}/search", body).status) == (400, 400), body
    assert chat.made(path, {"body": "good"}) == 1


def test_a_long_message_is_stored_whole_and_one_too_long_is_refused(chat: Chatting) -> None:
    path, long = chat.talk(), "\x01🍎" * 5_000
    chat.made(path, {"body": long})
    assert [chat("POST", path, {"body": "x" * size}).status for size in (32_769, 1_000_000)] == [413, 413]
    chat.store()
    assert bodies(chat.get(path)) == [(1, long)]


@by_redis_too
def test_a_changed_message_is_seen_changed(chat: Chatting) -> None:
    path = chat.talk()
    chat.made(path, {"body": "old"})
    assert chat("PUT", f"{path}/1", {"body": " new "}).json == {"number": 1, "body": "new"}
    assert bodies(chat.get(path)) == [(1, "new")]
    chat.store()
    assert (bodies(chat.get(path)), chat.get(f"{path}/1")["body"]) == ([(1, "new")], "new")
    assert chat("PUT", f"{path}/1", {"body": " "}).status == 400


def test_a_message_has_an_etag_that_guards_it(chat: Chatting) -> None:
    path = chat.talk()
    chat.made(path, {"body": "first"})
    first = chat("GET", f"{path}/1").headers["etag"]
    assert chat("GET", f"{path}/1", if_none_match=first).status == 304
    second = chat("PUT", f"{path}/1", {"body": "second"}, if_match=first).headers["etag"]
    assert chat("GET", f"{path}/1", if_none_match=first).headers["etag"] == second != first
    refused = chat("PUT", f"{path}/1", {"body": "third"}, if_match=first)
    assert (refused.status, refused.json["code"], chat.get(f"{path}/1")["body"]) == (412, "stale-version", "second")
    assert chat("PUT", f"{path}/1", {"body": "third"}, if_match=f"{first}, {second}").status == 200
    assert chat("PUT", f"{path}/1", {"body": "x"}, if_match="nonsense").status == 400


def test_pages_follow_each_other_in_the_order_of_numbers(chat: Chatting) -> None:
    path = chat.talk()
    for number in range(1, 8):
        chat.made(path, {"body": f"message {number}"})
        if number == 4:
            chat.store()
            chat("PUT", f"{path}/2", {"body": "changed"})
    first = chat("GET", f"{path}?count=3")
    following = first.headers["link"].partition(">")[0][1 + len(BASE) :]
    assert bodies(first.json) == [(1, "message 1"), (2, "changed"), (3, "message 3")]
    assert [each["number"] for each in chat.get(following)] == [4, 5, 6]
    assert "link" not in chat("GET", f"{path}?after=6&count=3").headers
    assert {chat("GET", f"{path}?{query}").status for query in ("count=0", "count=x", "after=x", "after=-1")} == {400}


def test_counts_follow_with_a_moment_and_never_exceed_what_is_there(chat: Chatting) -> None:
    app = chat.new()
    for _ in range(5):
        chat.made(f"{app}/chats")
    for number in range(7):
        chat.made(f"{app}/chats/2/messages", {"body": f"{number}"})
    chat("PUT", f"{app}/chats/2/messages/1", {"body": "changed"})
    before = chat.get(app)
    assert (before["chats_count"], chat.get(f"{app}/chats/2")["messages_count"]) == (0, 0)
    chat.count()
    after = chat.get(app)
    assert (after["chats_count"], after["as_of"] > before["as_of"]) == (5, True)
    assert [each["messages_count"] for each in chat.get(f"{app}/chats")] == [0, 7, 0, 0, 0]
    chat.count()
    assert (chat.get(app)["chats_count"], chat.get(f"{app}/chats/2")["messages_count"]) == (5, 7)


def test_a_part_of_a_word_is_found_in_its_chat_alone(chat: Chatting) -> None:
    app = chat.new()
    one, other = (f"{app}/chats/{chat.made(f'{app}/chats')}/messages" for _ in range(2))
    chat.made(other, {"body": "message 1 for chat 2"})
    for body in ("message 1 for chat 1", "other", "third", "Größe: 5%", 'say "a_b" \\ AND c'):
        chat.made(one, {"body": body})
    chat.store()
    found = {text: [n for n, _ in bodies(chat("POST", f"{one}/search", {"body": text}).json)] for text in SEARCHED}
    assert found == SEARCHED
    assert chat("POST", f"{other}/search", {"body": "chat 1"}).json == []


SEARCHED = {
    "message 1": [1],
    " SSAGE ": [1],
    "ther": [2],
    "e": [1, 2, 4],
    "ir": [3],
    "r": [1, 2, 3, 4],
    "GRÖSSE": [4],
    "größe:": [4],
    "5%": [4],
    "%": [4],
    "_": [5],
    "a_b": [5],
    "axb": [],
    '"a_b" \\ and': [5],
    "\\": [5],
    "message 2": [],
    "nothing of this": [],
}


def test_what_is_searched_is_what_a_message_says_now(chat: Chatting) -> None:
    path = chat.talk()
    for body in ("apples and pears", "pears", "pearls"):
        chat.made(path, {"body": body})
    chat.store()
    chat("PUT", f"{path}/1", {"body": "cherries"})
    chat.store()
    reply = chat("POST", f"{path}/search?count=1", {"body": "pear"})
    assert (bodies(reply.json), "after=2&count=1" in reply.headers["link"]) == ([(2, "pears")], True)
    assert bodies(chat("POST", f"{path}/search?after=2", {"body": "pear"}).json) == [(3, "pearls")]
    assert chat("POST", f"{path}/search", {"body": "apple"}).json == []
    assert bodies(chat("POST", f"{path}/search", {"body": "cherr"}).json) == [(1, "cherries")]


@by_redis_too
def test_what_is_asked_again_under_a_key_is_done_once(chat: Chatting) -> None:
    name = {"name": "once"}
    replies = [chat("POST", "", name, idempotency_key=f"a {id(chat)}") for _ in range(2)]
    assert replies[0].json["token"] == replies[1].json["token"]
    assert [reply.headers.get("idempotency-replayed") for reply in replies] == [None, "true"]
    app = f"/{replies[0].json['token']}"
    assert [chat.made(f"{app}/chats", idempotency_key=key) for key in "aab"][:2] == [1, 1]
    path = f"{app}/chats/1/messages"
    assert [chat.made(path, {"body": "hello"}, idempotency_key="a") for _ in range(2)] == [1, 1]
    assert chat("POST", path, {"body": "other"}, idempotency_key="a").status == 422
    assert (len(chat.get(path)), chat("POST", path, {"body": "a"}, idempotency_key="x" * 201).status) == (1, 400)
    assert chat("POST", f"{app}/chats/77/messages", {"body": "a"}, idempotency_key="c").status == 404


def test_other_methods_and_paths_are_told_apart(chat: Chatting) -> None:
    path = chat.talk()
    for method, asked, status in [
        ("PUT", f"{path}/search", 400),
        ("GET", f"{path}/search", 400),
        ("DELETE", path, 405),
        ("POST", f"{path}/1", 405),
        ("GET", f"{path}/", 404),
        ("GET", f"{path}/1/more", 404),
    ]:
        reply = chat(method, asked, {"body": "a"} if method in ("PUT", "POST") else None, accept="application/json")
        assert (reply.status, reply.json["status"]) == (status, status), asked
    assert chat("DELETE", path).headers["allow"] == "GET, HEAD, POST"
    assert chat("HEAD", path).body == b""


@by_redis_too
def test_many_who_write_at_once_get_every_number_once(chat: Chatting) -> None:
    path, app = chat.talk(), chat.new()

    def write(writer: int) -> list[tuple[int, int]]:
        connection = http.client.HTTPConnection("127.0.0.1", chat.client.port, timeout=WAIT_SECONDS)
        with_body = {"body": f"of {writer}"}
        numbers = [(said(connection, f"{app}/chats"), said(connection, path, with_body)) for _ in range(8)]
        connection.close()
        return numbers

    with ThreadPoolExecutor(20) as writers:
        numbers = [pair for pairs in writers.map(write, range(20)) for pair in pairs]
    chat.store()
    for given, there in zip(zip(*numbers, strict=True), (f"{app}/chats", path), strict=True):
        assert sorted(given) == list(range(1, 161))
        assert [each["number"] for each in chat.get(there)] == list(range(1, 161))


def said(connection: http.client.HTTPConnection, path: str, body: Any = None) -> int:
    connection.request("POST", BASE + path, msgspec.json.encode(body))
    number: int = msgspec.json.decode(connection.getresponse().read())["number"]
    return number


def test_all_links_and_files_of_the_page_are_there(chat: Chatting) -> None:
    page = chat.client("GET", "/chat")
    assert (page.status, page.headers["content-type"].partition(";")[0]) == (200, "text/html")
    for file in re.findall(r'(?:src|href)="(/[^"]*)"', page.text):
        assert chat.client("GET", file).status == 200
    assert "'unsafe-inline'" not in page.headers["content-security-policy"]
