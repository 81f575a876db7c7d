"""The service without group commit, to be measured against: each write is a transaction of its own.

python -m bench._alone URL     says where it is, as `rowlock serve` does
"""

import sys
from collections.abc import Callable
from typing import Any

from rowlock import Engine
from rowlock.api.server_limits import ServerLimits
from rowlock.http.executor import VerbExecutor
from rowlock.http.server import Server, bind
from rowlock.http.service import Service


class Alone(VerbExecutor):
    """Runs each write by itself, in one of as many threads as the other has."""

    async def write(self, verb: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Run a verb that writes."""
        return await self.run_in_thread(lambda: self.engine.run(verb, *args, **kwargs))


def main(url: str) -> None:
    sock = bind("127.0.0.1", 0)
    with Engine(url) as engine:
        service = Service(engine, loopback=True)
        service.executor = Alone(engine, waiting=ServerLimits().waiting_requests)
        address = f"http://127.0.0.1:{sock.getsockname()[1]}"
        Server(service, started=lambda: print(f"alone at {address}", file=sys.stderr, flush=True)).run(sockets=[sock])


if __name__ == "__main__":
    main(sys.argv[1])
