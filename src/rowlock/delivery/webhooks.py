"""Webhooks: a notification is sent as an HTTP request, signed, under a key that stays the same if it is sent again."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from rowlock.delivery.responses import HttpResponse, retry_after_seconds
from rowlock.delivery.sender import OutgoingRequest, sender_from_environment
from rowlock.delivery.signatures import key
from rowlock.durations import Duration, milliseconds
from rowlock.errors import HostNotAllowed, InvalidUrl, NoAnswer
from rowlock.http_url import check_header, parse
from rowlock.model import Notification
from rowlock.outcomes import Done, Fail, Outcome, Retry

GONE = 410

log = logging.getLogger("rowlock.delivery")

Body = Callable[[Notification], Any]


def document(notification: Notification) -> dict[str, Any]:
    """What a receiver reads, unless it shall read something else."""
    return {
        "topic": notification.topic,
        "subscriber": notification.subscriber,
        "record": notification.record,
        "record_id": notification.record_id,
        "predicates": notification.predicates,
        "key": notification.key,
    }


class Webhook:
    """Tells subscribers by POST, each in a request of its own: to one address, or to what each has subscribed as."""

    def __init__(
        self,
        url: str | None = None,
        *,
        body: Body = document,
        headers: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        allow: Iterable[str] | None = None,
        timeout: Duration = "20s",
    ) -> None:
        self._target = None if url is None else parse(url)
        self._body = body
        self._headers = dict(headers or {})
        for name, value in self._headers.items():
            check_header(name, value)
        self._keys = tuple(key(secret) for secret in secrets)
        self._seconds = milliseconds(timeout) / 1_000
        self._sender = sender_from_environment(allow)

    def __repr__(self) -> str:
        return f"Webhook({self._target.shown!r})" if self._target else "Webhook()"

    def __call__(self, notification: Notification) -> Outcome:
        """Send one notification: a success is Done, a refused or invalid address and 410 fail, all else is retried."""
        try:
            target = self._target or parse(notification.subscriber)
            return _outcome(self._sender.post(target, self._message(notification), seconds=self._seconds))
        except NoAnswer as error:
            return Retry(error.what, kind=error.fields["reason"])
        except (InvalidUrl, HostNotAllowed) as error:
            # Another attempt would be refused as well; `topic retry` tries again when the address has been allowed.
            about = {"topic": notification.topic, "subscriber": notification.subscriber, "code": error.code}
            log.warning("notification not sent: %s", error.what, extra=about)
            return Fail(str(error), kind=error.code)

    def check(self) -> None:
        """Refuse now an address that could not be sent to from here."""
        if self._target is not None:
            self._sender.check(self._target)

    def close(self) -> None:
        """Close connections that are kept for the next one."""
        self._sender.close()

    def _message(self, notification: Notification) -> OutgoingRequest:
        headers = {**self._headers, "idempotency-key": notification.key}
        body = msgspec.json.encode(self._body(notification))
        return OutgoingRequest(f"ntf_{notification.key}", body, headers, self._keys)


def _outcome(answer: HttpResponse) -> Outcome:
    if answer.well:
        return Done()
    kind = f"status {answer.status}"
    if answer.status == GONE:
        return Fail(answer.line, kind=kind)
    wait = retry_after_seconds(answer)
    return Retry(answer.line, kind=kind) if wait is None else Retry(answer.line, after=wait, counted=False, kind=kind)
