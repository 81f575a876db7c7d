"""Links by which people unsubscribe: nobody can make one for somebody else."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256


class UnsubscribeLinks:
    """Makes links and reads them."""

    def __init__(self, secret: str, public: str = "") -> None:
        self._secret = secret.encode()
        self.public = public.rstrip("/")

    def unsubscribe(self, email: str) -> str:
        """Where somebody takes back all wishes; a whole address if it is known where this service is."""
        who = urlsafe_b64encode(email.encode()).decode().rstrip("=")
        return f"{self.public}/unsubscribe/{who}/{self._proof(email)}"

    def read(self, who: str, proof: str) -> str | None:
        """Whose link it is; None if it is not one of ours."""
        try:
            email = urlsafe_b64decode(who + "=" * (-len(who) % 4)).decode()
        except ValueError:
            return None
        return email if hmac.compare_digest(self._proof(email).encode(), proof.encode()) else None

    def _proof(self, email: str) -> str:
        return hmac.new(self._secret, f"unsubscribe\0{email}".encode(), sha256).hexdigest()[:40]
