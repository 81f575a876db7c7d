"""Links to unsubscribe, signed so that nobody can make one for somebody else, and the secret that signs them.

The secret is in a table that nobody can read over HTTP.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from rowlock import Engine, Transaction
from rowlock.apps.tables import AppTables

HERE = Path(__file__).parent
MIGRATIONS = ("0001_secrets",)
NAME = "unsubscribe"


class UnsubscribeLinks:
    """Makes and reads links to unsubscribe."""

    def __init__(self, secret: str, public: str = "") -> None:
        self._secret = secret.encode()
        self.public = public.rstrip("/")

    def unsubscribe(self, email: str) -> str:
        """Return the link that removes all subscriptions of a customer; absolute if the public URL is known."""
        who = urlsafe_b64encode(email.encode()).decode().rstrip("=")
        return f"{self.public}/unsubscribe/{who}/{self._proof(email)}"

    def read(self, who: str, proof: str) -> str | None:
        """Return the customer of a link; None if its signature is wrong."""
        try:
            email = urlsafe_b64decode(who + "=" * (-len(who) % 4)).decode()
        except ValueError:
            return None
        return email if hmac.compare_digest(self._proof(email).encode(), proof.encode()) else None

    def _proof(self, email: str) -> str:
        return hmac.new(self._secret, f"unsubscribe\0{email}".encode(), sha256).hexdigest()[:40]


def unsubscribe_secret(engine: Engine) -> str:
    """Return the secret of links to unsubscribe; the first server that starts creates it."""
    tables = AppTables(engine, HERE)
    tables.migrate("comics/schema", MIGRATIONS)

    def find(tx: Transaction, asked: list[str]) -> list[str]:
        return [_found(tx, name, tables=tables) for name in asked]

    # As a grouped function, so that it is repeated after a conflict with another server that starts.
    return engine.grouped.together(find)(NAME)


def _found(tx: Transaction, name: str, *, tables: AppTables) -> str:
    tables.rows(tx, "secrets/add", name=name, secret=token_hex(32))
    ((found,),) = tables.rows(tx, "secrets/show", name=name)
    return str(found)
