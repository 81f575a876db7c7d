"""A program that is interrupted at random moments of ordinary work, goes on, and looks at what it left behind.

    python interrupted.py FILE TIMES SEED

Its last line says how often it was interrupted and what was wrong; where it hangs there is none.
"""

import os
import random
import signal
import sqlite3
import sys
import threading
from types import FrameType

from rowlock import Engine, RowlockError, Session

LONGEST = 0.008


class Program:
    """Adds, claims and settles; `armed` says whether an interrupt may come now."""

    def __init__(self, path: str, chance: random.Random) -> None:
        self.engine = Engine(path, patience=5)
        self.other = sqlite3.connect(path, isolation_level=None, timeout=0)
        self.chance = chance
        self.armed = False
        self.number = 0
        self.added: set[str] = set()
        self.settled: set[str] = set()
        self.wrong: list[str] = []

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """What a signal does."""
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def arm(self, trial: int) -> threading.Timer | None:
        """Have a signal come soon: from the system, or by another thread."""
        self.armed = True
        seconds = self.chance.uniform(0.0001, LONGEST)
        if trial % 2:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            return None
        timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        return timer

    def work(self, session: Session) -> None:
        """Work until something interrupts."""
        while self.armed:
            self.number += 1
            key = f"{self.number:06}"
            self.engine["kept"].add(key)
            self.added.add(key)
            self.engine["work"].add([f"{key}-{part}" for part in range(4)])
            done: list[str] = []
            for claim in session.claim("work", limit=2):
                self.settled.update(done)
                done = [item.key for item in claim]
                for item in claim:
                    claim.done(item)
            self.settled.update(done)
            self.engine["kept"].counts()
            self.engine.counter("numbers").next()
            with self.engine.transaction() as tx:
                tx["kept"].add(f"{key}-tx")
            self.added.add(f"{key}-tx")

    def look(self, trial: int) -> None:
        """Whether this program can write, and others at once."""
        try:
            self.engine["looks"].add(f"{trial}")
            self.engine.counter("looks").next()  # last: a grouped call that was interrupted has then ended
        except RowlockError as error:
            self.wrong.append(f"{trial}: the program cannot write: {error}")
        try:
            self.other.execute("begin immediate")
            self.other.execute("rollback")
        except sqlite3.Error as error:
            self.wrong.append(f"{trial}: the file is locked: {error}")

    def last_look(self) -> None:
        """Whether all that was acknowledged has lasted."""
        kept = {item.key for item in self.engine["kept"].items()}
        left = {item.key for item in self.engine["work"].items()}
        self.wrong += [f"lost: {key}" for key in self.added - kept]
        self.wrong += [f"settled and there: {key}" for key in self.settled & left]
        for (name,) in self.other.execute("pragma integrity_check").fetchall():
            self.wrong += [] if name == "ok" else [name]


def main(path: str, times: int, seed: int) -> None:
    program = Program(path, random.Random(seed))
    for number in (signal.SIGINT, signal.SIGALRM):
        signal.signal(number, program.interrupt)
    interrupted = 0
    for trial in range(times):
        session = program.engine.session(expiry="1h").open()
        timer = None
        try:
            timer = program.arm(trial)
            program.work(session)
        except KeyboardInterrupt:
            interrupted += 1
        program.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        if timer is not None:
            timer.join()
        program.look(trial)
        session.close()
    program.last_look()
    sys.stdout.write(f"{interrupted} {program.wrong[:20]}\n")


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
