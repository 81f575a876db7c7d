"""Notifier: customers hear of a comic by a request, by mail, or only in the shop's own history."""

from collections.abc import Callable, Sequence
from email.message import EmailMessage
from typing import Any

from rowlock import Invalid, Mail, Notification, Webhook
from rowlock.apps.comics import model
from rowlock.apps.comics.unsubscribe_links import UnsubscribeLinks


class ShopNotifier:
    """The delivery that was chosen when the application was built."""

    def __init__(
        self,
        links: UnsubscribeLinks,
        *,
        notify: str,
        mail: str,
        sender: str,
        secrets: Sequence[str],
        allow: Sequence[str] | None,
    ) -> None:
        if notify and mail:
            raise Invalid("notify and mail exclude each other", "give one of them")
        if mail and not sender:
            raise Invalid("mail needs a sender", "give sender=shop@example.org")
        self._links = links
        self.deliver: Callable[[Notification], Any] = _only_noted
        self.close: Callable[[], None] = _nothing
        if notify:
            webhook = Webhook(notify, body=self.body, secrets=secrets, allow=allow)
            webhook.check()
            self.deliver, self.close = webhook, webhook.close
        if mail:
            self.deliver = Mail(mail, sender=sender, compose=self.letter)

    def body(self, notification: Notification) -> dict[str, Any]:
        """Return the body of a request."""
        comic = {name: notification.record[name] for name in model.FIELDS}
        who = notification.subscriber
        return {"comic": comic, "email": who, "unsubscribe": self._links.unsubscribe(who)}

    def letter(self, notification: Notification) -> EmailMessage:
        """Return the mail to a customer."""
        comic = notification.record
        mint = "mint" if comic["mint"] else "used"
        asked = ", ".join(f"{name} {value}" for name, value in notification.predicates.items()) or "every comic"
        link = self._links.unsubscribe(notification.subscriber)
        message = EmailMessage()
        message["Subject"] = " ".join(f"{comic['series']} {comic['issue']} has come in".split())
        if self._links.public:
            message["List-Unsubscribe"] = f"<{link}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message.set_content(
            f"{comic['series']} {comic['issue']} ({comic['publisher']} {comic['year']}, {mint})\n"
            f"by {comic['author']}, drawn by {comic['artist']}\n\n"
            f"You asked for: {asked}.\nTo hear no more of us: {link}\n"
        )
        return message


def _only_noted(_: Notification) -> None:
    """Do nothing: the history of the topic is enough."""


def _nothing() -> None:
    """Do nothing: there is nothing to close."""
