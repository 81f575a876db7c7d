"""Webhooks: a notification is sent as a signed HTTP request, with an idempotency key."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from rowlock.delivery.connections import HttpResponse
from rowlock.delivery.http_sender import OutgoingRequest, sender_from_environment
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
    """Return the default body of a webhook."""
    return {
        "topic": notification.topic,
        "subscriber": notification.subscriber,
        "record": notification.record,
        "record_id": notification.record_id,
        "predicates": notification.predicates,
        "key": notification.key,
    }


class Webhook:
    """Notifies each subscriber by a POST request: to one URL, or to the subscriber, which is a URL itself."""

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
        """Send one notification. 2xx is Done; 410, an invalid URL and a private host Fail; all else is retried."""
        try:
            target = self._target or parse(notification.subscriber)
            return _outcome(self._sender.post(target, self._request(notification), seconds=self._seconds))
        except NoAnswer as error:
            return Retry(error.what, kind=error.fields["reason"])
        except (InvalidUrl, HostNotAllowed) as error:
            # Another attempt would fail too; `topic retry` tries again once the host is allowed.
            about = {"topic": notification.topic, "subscriber": notification.subscriber, "code": error.code}
            log.warning("notification not sent: %s", error.what, extra=about)
            return Fail(str(error), kind=error.code)

    def check(self) -> None:
        """Raise HostNotAllowed if the URL has a private address that is not allowed."""
        if self._target is not None:
            self._sender.check(self._target)

    def close(self) -> None:
        """Close idle connections."""
        self._sender.close()

    def _request(self, notification: Notification) -> OutgoingRequest:
        headers = {**self._headers, "idempotency-key": notification.key}
        body = msgspec.json.encode(self._body(notification))
        return OutgoingRequest(f"ntf_{notification.key}", body, headers, self._keys)


def _outcome(response: HttpResponse) -> Outcome:
    if response.ok:
        return Done()
    kind = f"status {response.status}"
    if response.status == GONE:
        return Fail(response.line, kind=kind)
    wait = response.retry_after_seconds
    return Retry(response.line, after=wait, counted=wait is None, kind=kind)
