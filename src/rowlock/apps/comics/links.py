"""Links to unsubscribe, signed so that nobody can make one for somebody else."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256


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
