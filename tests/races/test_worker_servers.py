"""The server dies under its workers, and they go on when it is back."""

from tests.races.killing import BATCH, Gang, account, prepare, ranks, settled, until
from tests.servers import Server

from rowlock import Engine


def test_the_work_goes_on_when_the_server_was_killed_and_came_back() -> None:
    server = Server(synchronous_commit="on").start()
    try:
        with Engine(server.url()) as engine:
            engine.migrate()
            prepare(engine, 4_000)
            gang = Gang(server.url(), BATCH, 3)
            for part in (500, 1500):
                until(lambda after=part: ranks(engine)[0] >= after)
                server.kill()
                server.start()
            assert gang.wait() == [0] * 3
            assert account(engine) == settled(4_000)
    finally:
        server.remove()
