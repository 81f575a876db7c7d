"""The throw-away server itself: gone when whoever started it is gone."""

import signal
import subprocess
import sys

import psutil
import pytest
from tests.servers import NoServer, Server

START = """
import sys, threading
from tests.servers import Server
def start():
    print(Server().start().pid, flush=True)
thread = threading.Thread(target=start)
thread.start()
thread.join()
sys.stdin.read()
"""


def test_a_server_dies_with_a_killed_parent_and_not_with_the_thread_that_started_it() -> None:
    parent = subprocess.Popen([sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
        alive = server.is_running() and server.status() != psutil.STATUS_ZOMBIE
        parent.send_signal(signal.SIGKILL)
    psutil.wait_procs([server], timeout=20)
    assert (alive, server.is_running()) == (True, False)


def test_a_server_that_was_killed_starts_again_with_its_data() -> None:
    try:
        server = Server(synchronous_commit="on").start()
    except NoServer as why:
        pytest.skip(str(why))
    with server.connect() as connection:
        connection.execute("create table kept (number integer)")
    server.kill()
    server.start()
    with server.connect() as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)
    server.remove()
    assert not server.folder.exists()
