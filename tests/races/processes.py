"""Real processes that do something with an engine, all at once."""

import subprocess
import sys
from collections.abc import Sequence

PROLOGUE = """
import sys
from rowlock import Engine
url, number = sys.argv[1], int(sys.argv[2])
engine = Engine(url)
engine.lists()
print("ready", flush=True)
sys.stdin.readline()
work = engine["work"]
"""


class Crowd:
    """Processes that run one program each, started together when all are ready."""

    def __init__(self, url: str, programs: Sequence[str]) -> None:
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", f"{PROLOGUE}\n{program}\nengine.close()", url, str(number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number, program in enumerate(programs)
        ]

    def run(self) -> list[str]:
        """Let them go and wait for their ends; what each had to complain about."""
        for process in self._processes:
            assert process.stdout is not None
            process.stdout.readline()
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [process.communicate()[1] for process in self._processes]
