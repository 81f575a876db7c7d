"""Who may do what: every request of authorization.txt by every role and scope, on own, foreign and missing names."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from tests.conftest import Clock
from tests.http.serving import Reply
from tests.security.asking import FORM, InProcess, asked

from rowlock import Engine, topics
from rowlock.dashboard.rendering import ASSETS
from rowlock.http.pages import PAGE_ROUTES
from rowlock.http.routes import ROUTES
from rowlock.http.routing import Route, Router
from rowlock.roles import Role

GOLDEN = Path(__file__).parent / "authorization.txt"
ORDER = ["everybody", *Role]
SCOPES = ("open", "named", "body", "inside", "hidden", "filtered", "whole")
STRANGERS = ("no token", "a garbled token", "a revoked token", "an expired token")
HELD = [f"{role} of own" for role in Role if role is not Role.ADMIN]
TARGETS = ("own", "foreign", "own, absent", "foreign, absent")
NAMES = {"own": "own/list", "own, another": "own/other", "foreign": "foreign/canary"}


class Case(msgspec.Struct, frozen=True):
    """A line of the golden file."""

    role: str
    scope: str
    method: str
    target: str
    body: str

    def __str__(self) -> str:
        return f"{self.method} {self.target} {self.body}"

    @property
    def route(self) -> Route:
        """The route that answers it."""
        found = ROUTER.match(self.method, re.sub(r"\?.*", "", self.target).encode())
        assert found is not None, f"there is no route for {self}"
        return found[0]


ROUTER = Router((*ROUTES, *PAGE_ROUTES))
LINES = [line for line in GOLDEN.read_text().splitlines() if line and not line.startswith("#")]
CASES = [Case(*each) for each in (re.fullmatch(r"(\w+) +(\w+) +(\w+) (\S+) ?(.*)", line).groups() for line in LINES)]


class Matrix:
    """A service with everything twice, own and foreign, and a token of each kind; it can be put back as it was."""

    def __init__(self, ask: InProcess, path: Path, *, clock: Clock) -> None:
        self._ask = ask
        self._live = sqlite3.connect(path, isolation_level=None)
        self._kept = sqlite3.connect(":memory:")
        self.names: dict[str, dict[str, str]] = {}
        engine = ask.service.engine
        self.tokens = dict(self._make_tokens(engine))
        spare = engine.tokens.create("viewer")
        shared = {"spare_token": str(spare.info.id), "live_token": spare.text, "static": next(iter(ASSETS))}
        mine = {f"own_{name}": value for name, value in self._make_names(engine, "own, another").items()}
        for target in TARGETS:
            self.names[target] = {**shared, **mine, "own": mine["own_list"], **self._make_names(engine, target)}
        clock.advance(1)
        engine.upkeep()
        self._live.backup(self._kept)
        self._changed = False

    def _make_tokens(self, engine: Engine) -> Iterator[tuple[str, str]]:
        yield "no token", ""
        yield "a garbled token", engine.tokens.create("admin").text[:-1] + "?"
        revoked = engine.tokens.create("admin")
        engine.tokens.revoke(revoked.info.id)
        yield "a revoked token", revoked.text
        yield "an expired token", engine.tokens.create("admin", expires="1ms").text
        for role in Role:
            yield str(role), engine.tokens.create(role).text
            if role is not Role.ADMIN:
                yield f"{role} of own", engine.tokens.create(role, lists=["own/", "topics/own-"]).text

    def _make_names(self, engine: Engine, target: str) -> dict[str, str]:
        kind = target.partition(",")[0]
        if "absent" in target:
            session, claim = ("a" * 32, "b" * 32) if kind == "own" else ("c" * 32, "d" * 32)
            return {"list": f"{kind}/absent", "topic": f"{kind}-absent", "session": session, "claim": claim}
        name = NAMES[target]
        engine[name].settings(keep_results=True, attempts=1)
        engine[name].add(["a", "b", "c", "d"])
        engine.counter(name).raise_to(1)
        engine.schedule(name).set(name, every="1w")
        topic = engine.topic(name.replace("/", "-"))
        topic.define({"series": "text"})
        topic.subscribe("bob", {"series": "Saga"})
        topic.publish({"series": "Saga"})
        worker = engine.tokens.create("worker", lists=[f"{kind}/"]).text
        opened = self._ask("POST", "/v1/sessions", {"holder": name, "expiry": "60s"}, **headers(worker)).json
        options = {"session": opened["session"], "limit": 2}
        claimed = self._ask("POST", f"/v1/lists/{quote(name, safe='')}/claims", options, **headers(worker)).json
        return {"list": name, "topic": topic.name, "session": opened["session"], "claim": claimed["claim"]}

    def reply(self, case: Case, caller: str, target: str) -> Reply:
        """Send one request."""
        names = self.names[target]
        quoted = {name: quote(value, safe="") for name, value in names.items()}
        is_form = not case.body.startswith("{")
        body = filled(case.body, quoted if is_form else names)
        content_type = FORM if is_form and case.route.is_page else "application/json"
        sent = {**headers(self.tokens[caller]), "content_type": content_type, "sec_fetch_site": "same-origin"}
        self._changed = self._changed or case.method != "GET"
        return self._ask(case.method, filled(case.target, quoted), body, **sent)

    def put_back(self) -> None:
        """Undo what requests have changed."""
        if self._changed:
            self._kept.backup(self._live)
            self._changed = False

    def stored(self) -> list[str]:
        """All that is stored, but for the last use of tokens, which is noted at any time."""
        return [_without_use(line) if '"rowlock_tokens"' in line else line for line in self._live.iterdump()]


def _without_use(line: str) -> str:
    first, _, last = line.rsplit(",", 2)
    return first + last


def headers(token: str) -> dict[str, str]:
    shown = {"authorization": f"Bearer {token}"} if token else {}
    return {"accept": "application/json", "x_request_id": "r", **shown}


def filled(text: str, names: dict[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda match: names[match[1]], text)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    path = tmp_path_factory.mktemp("matrix") / "work.db"
    clock = Clock()  # it stands still: no session expires, and upkeep finds nothing to do
    with Engine(str(path), clock=clock) as engine, asked(engine) as ask:
        yield Matrix(ask, path, clock=clock)


def allowed(case: Case, caller: str, target: str) -> bool:
    """Whether the golden file allows it; what is hidden, filtered or inside is looked at by tests of their own."""
    if case.role == "everybody":
        return True
    role, _, is_held = caller.partition(" of ")
    if caller in STRANGERS or ORDER.index(role) < ORDER.index(case.role):
        return False
    if not is_held or case.scope in ("hidden", "filtered", "inside"):
        return True
    return case.scope in ("named", "body") and target.startswith("own")


def is_refused(reply: Reply, caller: str) -> bool:
    is_sent_to_login = reply.status == 303 and reply.headers["location"].startswith("/login?")
    return reply.status == 401 or is_sent_to_login if caller in STRANGERS else reply.status == 403


def is_as_allowed(reply: Reply, target: str, *, hidden: bool) -> bool:
    """Whether an allowed request was carried out; on what is absent, whether it came past the check."""
    if reply.headers.get("location", "").startswith("/login?"):
        return False
    return reply.status not in (401, 403) and reply.status < (500 if hidden or "absent" in target else 400)


def test_the_golden_file_has_every_route_with_its_role_and_scope() -> None:
    declared = {(each.method, each.path): str(each.role or "everybody") for each in (*ROUTES, *PAGE_ROUTES)}
    written: dict[tuple[str, str], str] = {}
    for case in CASES:
        place = case.method, case.route.path
        written[place] = min(case.role, written.get(place, case.role), key=ORDER.index)
    pages = {(each.method, each.path) for each in PAGE_ROUTES if each.method == "POST"}
    assert written.keys() == declared.keys()
    assert {place: role for place, role in written.items() if place not in pages} == {
        place: role for place, role in declared.items() if place not in pages
    }
    assert {case.scope for case in CASES} == {*SCOPES}


@pytest.mark.parametrize("caller", [*STRANGERS, *map(str, Role), *HELD])
def test_a_request_that_is_not_allowed_is_refused_and_changes_nothing(matrix: Matrix, caller: str) -> None:
    matrix.put_back()
    before = matrix.stored()
    refused = [(case, target) for case in CASES for target in TARGETS if not allowed(case, caller, target)]
    replies = [(case, target, matrix.reply(case, caller, target)) for case, target in refused]
    wrong = [(case, target, reply) for case, target, reply in replies if not is_refused(reply, caller)]
    # A form may look first at a list that the caller may read.
    known = [(case, target) for case, target, reply in wrong if case.route.is_page and reply.status == 404]
    assert [f"{target}: {case}: {reply.status}" for case, target, reply in wrong if (case, target) not in known] == []
    assert {target for _, target in known} <= {"own, absent", "foreign, absent"}
    assert matrix.stored() == before


@pytest.mark.parametrize("caller", [*STRANGERS, *map(str, Role), *HELD])
def test_a_request_that_is_allowed_is_carried_out(matrix: Matrix, caller: str) -> None:
    wrong = []
    for case in CASES:
        for target in TARGETS:
            if allowed(case, caller, target):
                matrix.put_back()
                reply = matrix.reply(case, caller, target)
                hidden = case.scope == "hidden" and caller in HELD and target == "foreign"
                if not is_as_allowed(reply, target, hidden=hidden):
                    wrong.append(f"{target}: {case}: {reply.status} {reply.text[:300]}")
    assert wrong == []


@pytest.mark.parametrize("caller", HELD)
def test_a_refusal_does_not_reveal_whether_a_foreign_name_exists(matrix: Matrix, caller: str) -> None:
    """This holds for lists in paths and bodies, and for sessions and claims of workers of foreign lists."""
    matrix.put_back()
    before, different = matrix.stored(), []
    for case in CASES:
        if case.scope in ("named", "body", "hidden", "inside") and case.role != "everybody":
            told = [_neutral(matrix, case, caller, target) for target in ("foreign", "foreign, absent")]
            if told[0] != told[1]:
                different.append(f"{case}: {told}")
    assert different == []
    assert matrix.stored() == before


def _neutral(matrix: Matrix, case: Case, caller: str, target: str) -> tuple[int, str]:
    """Return the answer without the names that the caller itself has sent."""
    reply = matrix.reply(case, caller, target)
    text = reply.text + reply.headers.get("location", "")
    for name in ("list", "topic", "session", "claim"):
        value = matrix.names[target][name]
        for written in (value, quote(value, safe=""), quote(quote(value, safe=""))):
            text = text.replace(written, name)
    return reply.status, text


@pytest.mark.parametrize("caller", HELD)
def test_a_part_of_a_foreign_list_is_refused_inside_a_request(matrix: Matrix, caller: str) -> None:
    role = caller.partition(" ")[0]
    cases = [case for case in CASES if case.scope == "inside" and ORDER.index(case.role) <= ORDER.index(role)]
    told = [matrix.reply(case, caller, "foreign").json for case in cases]
    problems = [each["problem"] or each["settled"][0]["problem"] for each in told]
    assert [each["status"] for each in problems] == [403] * len(cases)


@pytest.mark.parametrize("caller", HELD)
def test_nothing_of_a_foreign_list_is_shown(matrix: Matrix, caller: str) -> None:
    matrix.put_back()
    looks = [case for case in CASES if case.method == "GET" and allowed(case, caller, "own")]
    shown = {str(case): matrix.reply(case, caller, "own").text for case in looks}
    assert len(shown) > 50
    assert [place for place, text in shown.items() if "canary" in text] == []


def test_the_lists_of_a_topic_have_its_name() -> None:
    assert topics.list_of("own", "") == "topics/own/"
