"""`rowlock serve` takes the bounds of its service from flags, the environment and files."""

import signal

import pytest
from tests.faces.shell import Shell
from tests.faces.waiting import started
from tests.http.serving import Client


def limits_of(shell: Shell, *words: str) -> dict[str, int]:
    """What a server that is started so says of its bounds."""
    with started(shell, "serve", "--port", "0", "--no-access-log", *words) as process:
        assert process.stderr is not None
        found = Client(int(process.stderr.readline().decode().rpartition(":")[2])).json("GET", "/v1/limits")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    return dict(found)


def test_limits_are_read_from_flags_the_environment_and_files(shell: Shell) -> None:
    shell.write("rowlock.toml", 'connections_per_address = 40\nlong_polls = "50"\nwaiting_requests = 7\n')
    shell.environment["ROWLOCK_LONG_POLLS"] = "60"
    found = limits_of(shell, "--connections", "100")
    asked = ("connections", "connections_per_address", "long_polls", "long_polls_per_address", "waiting_requests")
    assert [found[name] for name in asked] == [100, 40, 60, 30, 7]


@pytest.mark.parametrize(
    ("words", "environment", "wrong"),
    [
        ((), {"ROWLOCK_CONNECTIONS": "many"}, "connections must be a whole number from 1 to 1000000, got 'many'"),
        ((), {"ROWLOCK_CONNECTIONS": "0"}, "it was set by environment ROWLOCK_CONNECTIONS"),
        (("--connections", "8", "--long-polls", "7"), {}, "long_polls must be 1 to 6, three quarters of connections"),
    ],
)
def test_bounds_that_cannot_be_are_refused(
    quick: Shell, words: tuple[str, ...], environment: dict[str, str], wrong: str
) -> None:
    ran = quick("serve", "--port", "0", *words, **environment)
    assert (ran.status, wrong in ran.error) == (2, True)
