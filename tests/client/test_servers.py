"""Servers that are killed and come back, forks, and many threads: a client goes on."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest
from tests.client.process import Process, serving_process

from rowlock import Client, Unavailable, Verdict


@pytest.fixture(scope="module")
def only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving_process(str(tmp_path_factory.mktemp("served") / "work.db")) as found:
        yield found


@pytest.fixture
def process(only: Process) -> Process:
    """A server that is there; what a test before has killed is started again."""
    only.start()
    return only


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.torture)])
def test_a_client_waits_for_a_server_that_comes_back(process: Process, how: signal.Signals) -> None:
    with Client(process.url) as client:
        client[how.name].add("a")
        process.end(how)
        threading.Timer(0.5, process.start).start()
        assert client[how.name].add("b").added == 1
        assert [item.key for item in client[how.name]] == ["a", "b"]


def test_a_session_and_its_claim_outlive_the_server(process: Process) -> None:
    with Client(process.url) as client:
        client["claimed"].add(["a", "b"])
        with client.session() as session:
            claim = session.take("claimed", limit=1)
            assert claim is not None
            process.end()
            process.start()
            claim.done(claim.items[0])
            assert claim.settle() == {"a": Verdict.DONE}
            again = session.take("claimed")
            assert again is not None
            assert [item.key for item in again] == ["b"]
        assert client.sessions() == []


def test_a_fork_has_connections_of_its_own(process: Process) -> None:
    with Client(process.url) as client:
        client["forked"].add("parent")
        child = os.fork()
        if child == 0:
            try:
                ended = [client["forked"].add(f"child {number}").added for number in range(20)] == [1] * 20
            finally:
                os._exit(0 if ended else 1)
        assert [client["forked"].add(f"parent {number}").added for number in range(20)] == [1] * 20
        assert os.waitpid(child, 0)[1] == 0
        assert client["forked"].counts().ready == 41


def test_many_threads_share_a_client(process: Process) -> None:
    with Client(process.url) as client:

        def add(number: int) -> None:
            for each in range(10):
                client["threaded"].add(f"{number} {each}")

        threads = [threading.Thread(target=add, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client["threaded"].counts().ready == 160


def test_patience_has_an_end(process: Process) -> None:
    with Client(process.url, patience=0.3) as client:
        client["names"].add("a")
        process.end()
        with pytest.raises(Unavailable, match="nobody listens there"):
            client["names"].add("b")
