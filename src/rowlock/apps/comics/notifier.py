"""Notifier: how people hear of a comic: by a request, by mail, or only in the shop's own history."""

from collections.abc import Callable, Sequence
from email.message import EmailMessage
from typing import Any

from rowlock import Invalid, Mail, Notification, Webhook
from rowlock.apps.comics import model
from rowlock.apps.comics.links import UnsubscribeLinks


class ShopNotifier:
    """The way that was chosen when the application was made."""

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
            raise Invalid("people are told by notify or by mail, not by both", "give one of them")
        if mail and not sender:
            raise Invalid("mail needs somebody whom it comes from", "give sender=shop@example.org")
        self._links = links
        self.way: Callable[[Notification], Any] = _only_noted
        self.close: Callable[[], None] = _nothing
        if notify:
            webhook = Webhook(notify, body=self.body, secrets=secrets, allow=allow)
            webhook.check()
            self.way, self.close = webhook, webhook.close
        if mail:
            self.way = Mail(mail, sender=sender, compose=self.letter)

    def body(self, told: Notification) -> dict[str, Any]:
        """What the receiver of a request reads."""
        comic = {name: told.record[name] for name in model.FIELDS}
        return {"comic": comic, "email": told.subscriber, "unsubscribe": self._links.unsubscribe(told.subscriber)}

    def letter(self, told: Notification) -> EmailMessage:
        """What somebody reads in a mail."""
        comic = told.record
        mint = "mint" if comic["mint"] else "used"
        asked = ", ".join(f"{name} {value}" for name, value in told.predicates.items()) or "every comic"
        link = self._links.unsubscribe(told.subscriber)
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
    """The history is all that there is."""


def _nothing() -> None:
    """Nothing is kept open."""
