"""Commands of a worker: what they need, and what is said if it is missing; what becomes of them at the end."""

import os
import signal
import tempfile
from pathlib import Path

import pytest
from tests.faces.waiting import is_alive, is_asleep, lines
from tests.waiting import WAIT_SECONDS, until
from tests.worker.running import running

from rowlock import Engine, Unavailable, Worker
from rowlock.cli.command_output import CommandOutput
from rowlock.cli.terminal import Terminal
from rowlock.worker.exec.command_template import CommandTemplate
from rowlock.worker.exec.commands import Commands
from rowlock.worker.exec.process_groups import ProcessGroups


def test_without_a_folder_for_temporary_files_the_error_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(Unavailable, match="set TMPDIR to a folder"):
        ProcessGroups({})


def test_a_worker_ends_although_its_supervisors_are_killed_meanwhile(engine: Engine, tmp_path: Path) -> None:
    engine["work"].add(["a", "b", "c"])
    template = CommandTemplate((f"echo $$ $PPID >> {tmp_path}/started; exec tail -f /dev/null; : {{}}",), shell=True)
    commands = Commands(template, listener=CommandOutput(Terminal(quiet=True), count=lambda _: None), trouble=print)
    worker = Worker(engine, concurrency=3, grace=0)
    worker.execute("work", commands)
    with running(worker) as thread:
        until(lambda: len(lines(tmp_path / "started")) == 3)
        started, supervisors = zip(*(line.split() for line in lines(tmp_path / "started")), strict=True)
        until(lambda: all(map(is_asleep, supervisors)))  # they have reported what they started
        for process in set(supervisors):
            os.kill(int(process), signal.SIGSTOP)  # it ends nothing any more
        worker.stop()
        until(lambda: commands._executor is not None and commands._executor._closing)
        for process in set(supervisors):
            os.kill(int(process), signal.SIGKILL)
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    until(lambda: not any(map(is_alive, started)))
