"""The worker of examples/: bash, curl and jq, as it is printed, beside a worker in Python."""

import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from tests.http.serving import SECONDS, Client, Serving, until

from rowlock import Item, Worker

SCRIPT = Path(__file__).parents[2] / "examples" / "worker.sh"
COMMAND = """
case $0 in
    again) test -e again || { touch again; echo not yet >&2; exit 1; } ;;
    bad) echo no hope >&2; exit 65 ;;
esac
printf '%s\\n' "$0" >> worked
"""
needed = pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl", "jq"))), reason="needs bash, curl and jq")


def run(client: Client, folder: Path, name: str) -> None:
    """Work a list to its end as somebody would who has only read the script."""
    address = f"http://{client.host}:{client.port}"
    told = {"PATH": "/usr/local/bin:/usr/bin:/bin", "ROWLOCK_SERVER": address, "ROWLOCK_BATCH": "3"}
    words = [str(SCRIPT), name, "sh", "-c", COMMAND]
    ran = subprocess.run(words, cwd=folder, env=told, capture_output=True, text=True, timeout=SECONDS * 2, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@needed
def test_a_worker_in_bash_tells_what_became_of_each_item(quick: Client, tmp_path: Path) -> None:
    keys = ["again", "bad", "it's; $HOME", "two words", "ä/ö"]
    quick("PUT", "/v1/lists/odd%2Fnames", {"backoff": "1ms..1ms"})
    quick("POST", "/v1/lists/odd%2Fnames/items", {"items": keys})
    run(quick, tmp_path, "odd/names")
    assert sorted((tmp_path / "worked").read_text().splitlines()) == sorted(set(keys) - {"bad"})
    [left] = quick.json("GET", "/v1/lists/odd%2Fnames/items")["items"]
    told = quick.json("GET", "/v1/lists/odd%2Fnames/items/bad")["failures"]
    assert (left["key"], left["state"], [each["message"] for each in told]) == ("bad", "failed", ["no hope\n"])
    [told] = quick.json("GET", "/v1/lists/odd%2Fnames/items/again/failures")["failures"]
    assert (told["message"], quick.json("GET", "/v1/sessions")["sessions"]) == ("not yet\n", [])


@needed
def test_a_worker_in_bash_and_one_in_python_work_a_list_to_its_end(served: Serving, tmp_path: Path) -> None:
    work, keys = served.service.engine["work"], [f"item-{number}" for number in range(9)]
    worker, begun = Worker(served.service.engine, concurrency=1), threading.Event()
    handled: list[str] = []

    @worker.on("work")
    def handle(item: Item) -> None:
        begun.set()
        until((tmp_path / "worked").exists)  # so that each gets something
        handled.append(item.key)

    work.add("first")
    thread = threading.Thread(target=worker.run, kwargs={"signals": False})
    thread.start()
    assert begun.wait(SECONDS)
    work.add(keys)
    run(served.client, tmp_path, "work")
    worker.stop()
    thread.join(SECONDS)
    worked = (tmp_path / "worked").read_text().splitlines()
    assert sorted([*worked, *handled]) == sorted([*keys, "first"])
    assert (bool(worked), "first" in handled, work.counts().total) == (True, True, 0)


def test_without_a_command_it_says_how_it_is_used() -> None:
    ran = subprocess.run([str(SCRIPT), "work"], capture_output=True, text=True, check=False)
    assert (ran.returncode, "usage: worker.sh LIST COMMAND" in ran.stderr) == (2, True)


@needed
def test_what_commands_say_is_shown_and_a_list_that_is_not_there_ends_it(quick: Client, tmp_path: Path) -> None:
    quick("POST", "/v1/lists/said/items", {"items": ["a", "b"]})
    told = {"PATH": "/usr/local/bin:/usr/bin:/bin", "ROWLOCK_SERVER": f"http://{quick.host}:{quick.port}"}
    words = {"env": told, "cwd": tmp_path, "capture_output": True, "text": True, "timeout": SECONDS, "check": False}
    spoke, lost = (subprocess.run([str(SCRIPT), name, "echo"], **words) for name in ("said", "none"))
    assert (spoke.returncode, spoke.stdout) == (0, "a\nb\n")
    assert (lost.returncode, "'none'" in lost.stderr) == (3, True)
