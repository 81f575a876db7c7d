"""Deliveries: subscribers are told by HTTP and by mail, and what the other side says is the outcome."""

from collections.abc import Iterator
from contextlib import closing
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from tests.receivers import Receiver, free_port, receiver, said
from tests.worker.running import work_off

from rowlock import Done, Engine, Fail, Invalid, Mail, Notification, Retry, Webhook, Worker, verify

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5"
LOCAL = ["localhost"]


def told(subscriber: str = "ann@example.org", **record: Any) -> Notification:
    return Notification(
        topic="comics",
        subscriber=subscriber,
        record={"series": "Saga", "issue": 1, **record},
        record_id=7,
        predicates={"series": "Saga"},
        key="k1",
    )


def sent(tell: Webhook, notification: Notification) -> Any:
    """What becomes of one notification."""
    with closing(tell):
        return tell(notification)


class Post:
    """A mail server's hands: keeps what comes, refuses whom it is told to."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], EmailMessage]] = []

    async def handle_RCPT(self, _: Any, __: Any, envelope: Any, address: str, *___: Any) -> str:  # noqa: N802
        if "nobody" in address:
            return "550 no such person"
        if "busy" in address:
            return "451 later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _: Any, __: Any, envelope: Any) -> str:  # noqa: N802
        read = message_from_bytes(envelope.original_content, policy=policy.default)
        self.mails.append((envelope.rcpt_tos, read))
        return "250 OK"


@pytest.fixture(scope="module")
def post() -> Iterator[tuple[str, Post]]:
    hands = Post()
    controller = Controller(hands, hostname="127.0.0.1", port=free_port(), enable_SMTPUTF8=True)
    controller.start()
    yield f"smtp://127.0.0.1:{controller.port}", hands
    controller.stop()


@pytest.fixture
def shop() -> Iterator[Receiver]:
    with receiver(said({})) as server:
        yield server


def test_a_worker_sends_a_signed_webhook_with_a_key_once(engine: Engine, shop: Receiver) -> None:
    comics = engine.topic("comics")
    comics.define(series="text")
    comics.subscribe('o"brien <ü>', series="Saga")
    worker = Worker(engine)
    comics.deliver(worker, Webhook(shop.url, secrets=[SECRET], allow=LOCAL))
    number = comics.publish({"series": "Saga", "cover": "größer"})
    work_off(worker)
    [heard] = shop.heard
    [known] = comics.notifications(delivered=True)
    assert verify(heard.body, heard.headers, secrets=SECRET) == f"ntf_{known.key}"
    assert heard.headers["idempotency-key"] == known.key
    assert heard.json == {
        "topic": "comics",
        "subscriber": 'o"brien <ü>',
        "record": {"series": "Saga", "cover": "größer"},
        "record_id": number,
        "predicates": {"series": "Saga"},
        "key": known.key,
    }


def test_a_subscriber_can_be_its_own_url(shop: Receiver) -> None:
    tell = Webhook(allow=LOCAL, body=lambda each: {"issue": each.record["issue"]}, headers={"X-Shop": "7"})
    assert sent(tell, told(shop.url)) == Done()
    assert (shop.heard[0].json, shop.heard[0].headers["x-shop"]) == ({"issue": 1}, "7")


def test_a_webhook_to_a_forbidden_url_fails_at_once(shop: Receiver) -> None:
    outcomes = [sent(Webhook(allow=()), told(each)) for each in ("no address", shop.url)]
    outcomes.append(sent(Webhook(shop.url, allow=()), told()))
    assert [(type(each), each.kind) for each in outcomes] == [
        (Fail, "invalid-url"),
        (Fail, "host-not-allowed"),
        (Fail, "host-not-allowed"),
    ]
    assert shop.heard == []


def test_a_worker_ends_after_a_webhook_that_is_refused(
    engine: Engine, shop: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    comics = engine.topic("comics")
    comics.define({"issue": "integer"})
    comics.subscribe("ann")
    worker = Worker(engine)
    comics.deliver(worker, Webhook(shop.url, allow=()))
    number = comics.publish({"issue": 1})
    work_off(worker)
    [failure] = engine[f"topics/comics/{number}"].failures("ann")
    assert (failure.kind, "resolves to a private address" in failure.message) == ("host-not-allowed", True)
    assert "notification not sent" in caplog.text


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (said({}, "204 No Content"), Done()),
        (said({}, "500 Oh"), Retry("500 Oh", kind="status 500")),
        (said({}, "404 Not Found"), Retry("404 Not Found", kind="status 404")),
        (said({}, "410 Gone"), Fail("410 Gone", kind="status 410")),
        (said({}, "429 Busy", retry_after="7"), Retry("429 Busy", after=7.0, counted=False, kind="status 429")),
    ],
    ids=["well", "broken", "not found", "gone", "busy"],
)
def test_the_response_of_a_receiver_decides_the_outcome(answer: bytes, outcome: Any) -> None:
    with receiver(answer) as server:
        assert sent(Webhook(server.url, allow=LOCAL), told()) == outcome


def test_a_webhook_to_an_unreachable_receiver_is_retried() -> None:
    outcome = sent(Webhook(f"http://localhost:{free_port()}/", allow=LOCAL), told())
    assert isinstance(outcome, Retry)
    assert (outcome.counted, outcome.kind) == (True, "connection")


def test_a_mail_names_the_record_the_predicates_and_a_message_id(post: tuple[str, Post]) -> None:
    address, hands = post
    tell = Mail(address, sender="shop@example.org")
    assert tell(told('"o\'brien, \\"x\\""@example.org', title="größer")) == Done()
    assert tell(told("bob@example.org")) == Done()
    (_, quoted), (recipients, mail) = hands.mails[-2:]
    assert quoted["To"].addresses[0].username == 'o\'brien, "x"'
    assert "größer" in quoted.get_content()
    assert (recipients, mail["Subject"], mail["From"]) == (["bob@example.org"], "New in comics", "shop@example.org")
    assert (mail["Message-ID"], mail["Auto-Submitted"]) == ("<k1@example.org>", "auto-generated")
    assert mail.get_content().replace("\r", "") == "series: Saga\nissue: 1\n\nYou asked to be told of: series Saga.\n"


def test_a_mail_may_be_composed(post: tuple[str, Post]) -> None:
    address, hands = post

    def compose(each: Notification) -> EmailMessage:
        whole = EmailMessage()
        whole["Subject"], whole["List-Unsubscribe"] = f"Issue {each.record['issue']}", "<https://example.org/u/1>"
        whole.set_content("Here it is.")
        return whole

    assert Mail(address, sender="shop@example.org", compose=compose)(told()) == Done()
    assert Mail(address, sender="shop@example.org", compose=lambda _: ("two\r\nBcc: eve@x.org", "b"))(told()) == Done()
    (_, mail), (recipients, injected) = hands.mails[-2:]
    assert (mail["Subject"], mail["List-Unsubscribe"]) == ("Issue 1", "<https://example.org/u/1>")
    assert (injected["Subject"], injected["Bcc"], recipients) == ("two Bcc: eve@x.org", None, ["ann@example.org"])


@pytest.mark.parametrize(
    ("subscriber", "kind"),
    [
        ("nobody@example.org", (Fail, "mail 550")),
        ("busy@example.org", (Retry, "mail 451")),
        ("no address", (Fail, "address")),
        ("ann", (Fail, "address")),
        ("a@b\r\nBcc: eve@example.org", (Fail, "address")),
        ("", (Fail, "address")),
    ],
)
def test_a_permanently_refused_recipient_fails(post: tuple[str, Post], subscriber: str, kind: Any) -> None:
    outcome: Any = Mail(post[0], sender="shop@example.org")(told(subscriber))
    assert (type(outcome), outcome.kind) == kind


def test_mail_to_an_unreachable_or_silent_server_is_retried() -> None:
    away = Mail(f"smtp://127.0.0.1:{free_port()}", sender="shop@example.org")(told())
    with receiver(b"") as silent:
        hangs = Mail(f"smtp://127.0.0.1:{silent.port}", sender="shop@example.org", timeout="100ms")(told())
    assert [(type(each), each.kind) for each in (away, hangs)] == [(Retry, "connection")] * 2


def test_a_password_is_not_sent_without_tls(post: tuple[str, Post]) -> None:
    outcome: Any = Mail(post[0].replace("//127.0.0.1", "//u:hidden@127.1"), sender="shop@example.org")(told())
    assert isinstance(outcome, Retry)
    assert "hidden" not in outcome.error + repr(Mail("smtp://u:hidden@localhost", sender="shop@example.org"))


def test_a_maildir_holds_each_mail_once(tmp_path: Path) -> None:
    tell = Mail(f"maildir:{tmp_path / 'box'}", sender="shop@example.org")
    assert [tell(told()), tell(told())] == [Done(), Done()]
    [file] = (tmp_path / "box" / "new").iterdir()
    assert message_from_bytes(file.read_bytes(), policy=policy.default)["To"] == "ann@example.org"
    assert list((tmp_path / "box" / "tmp").iterdir()) == []


@pytest.mark.parametrize("to", ["ftp://x", "smtp://", "smtp://host:port", "maildir:/proc/none"])
def test_an_invalid_mail_destination_is_refused(to: str) -> None:
    with pytest.raises(Invalid):
        Mail(to, sender="shop@example.org")
    with pytest.raises(Invalid):
        Mail("smtp://localhost", sender="shop")
