"""A worker over HTTP, for tests."""

from typing import Any

from tests.http.serving import Client, Reply


class Remote:
    """A session with what it may ask."""

    def __init__(self, ask: Client, **opening: Any) -> None:
        self.ask = ask
        self.session = ask.json("POST", "/v1/sessions", opening)["session"]

    def claim(self, name: str = "work", **asked: Any) -> Any:
        """What is handed out."""
        key = asked.pop("key", None)
        headers = {"idempotency_key": key} if key else {}
        return self.ask.json("POST", f"/v1/lists/{name}/claims", {"session": self.session, **asked}, **headers)

    def keys(self, name: str = "work", **asked: Any) -> list[str]:
        """The keys of what is handed out."""
        return [item["key"] for item in self.claim(name, **asked)["items"]]

    def settle(self, claim: str, **said: Any) -> Reply:
        """Say what became of it."""
        return self.ask("PUT", f"/v1/claims/{claim}", {"session": self.session, **said})

    def beat(self, **said: Any) -> Reply:
        """Stay alive."""
        return self.ask("PUT", f"/v1/sessions/{self.session}", said)

    def close(self) -> Reply:
        """End."""
        return self.ask("DELETE", f"/v1/sessions/{self.session}", accept="application/json")
