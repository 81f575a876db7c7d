"""One seed: its faults, its history, and what was wrong."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
from tests.histories.checker import State, check
from tests.simulation.disk import Disk, installed
from tests.simulation.workload import LIST, OTHER_LIST, SETTINGS, drain, has_other_list, work
from tests.simulation.world import Endless, Event, Process, World

from rowlock.diagnostics import broken_rules

PROCESSES = (2, 2, 3)
STEPS = (2, 3, 3, 4)
SOMETIMES = (
    "a commit failed and was undone",
    "a full disk was reported",
    "a gate that items keep shut was not opened",
    "a late message was answered as before",
    "a loop settled and claimed",
    "a process paused",
    "a process was killed",
    "a process was killed after a commit",
    "a session expired",
    "a session found itself expired",
    "a stale settlement was refused",
    "a statement failed",
    "a transaction settled beside rows",
    "an add or a move before the open gate was refused",
    "an answer was lost after the commit",
    "an operation was interrupted",
    "an outcome was unknown to its caller",
    "items were claimed",
    "patience ended while the file was busy",
    "the clock of the database jumped",
    "the file was busy",
)
"""What many seeds together must have met: a run that has not proves nothing."""


class Run(msgspec.Struct):
    """What a seed has shown."""

    seed: int
    settings: dict[str, object]
    faults: dict[str, float]
    events: list[Event]
    marks: Counter[str]
    wrong: list[str]


class Summary(msgspec.Struct):
    """What many seeds have shown."""

    marks: Counter[str]
    failed: dict[int, list[str]]
    """What was wrong, by seed."""

    @property
    def never_met(self) -> list[str]:
        """What none of them has met."""
        return [mark for mark in SOMETIMES if not self.marks[mark]]


@contextmanager
def simulation() -> Iterator[Disk]:
    """A disk that engines use in place of files while the block lasts."""
    disk = Disk()
    try:
        with installed(disk):
            yield disk
    finally:
        disk.close()


def run_all(seeds: Iterable[int], *, stop: bool = False) -> Summary:
    """Simulate seeds, one after the other; with `stop` only up to the first that is wrong."""
    summary = Summary(Counter(), {})
    with simulation() as disk:
        gc.disable()  # it would run in the middle of operations that are interrupted, and take a tenth of the time
        try:
            for count, seed in enumerate(seeds):
                shown = run(seed, disk)
                summary.marks += shown.marks
                if shown.wrong:
                    summary.failed[seed] = shown.wrong
                    if stop:
                        break
                if count % 100 == 0:
                    gc.collect()
        finally:
            gc.enable()
    return summary


def run(seed: int, disk: Disk) -> Run:
    """Simulate a seed and check all that happened."""
    disk.reset()
    world = World(seed, disk)
    calm = Process(world, "calm", lambda _: None)
    disk.new_line = calm.open_line
    settings = world.chance.choice(SETTINGS)
    try:
        if settings:
            calm.engine[LIST].settings(**settings)
        calm.engine[LIST].add([f"k{next(world.keys)}" for _ in range(3)], gate=0)
        if has_other_list(world):
            calm.engine[OTHER_LIST].add([f"k{next(world.keys)}" for _ in range(3)], gate=0)
        world.choose_faults()
        faults = dict(world.faults)
        _work(world)
        _look(world, calm)
    except Endless:
        world.wrong.append("it does not end")
    except Exception as error:
        world.wrong.append(f"after the faults an operation raised {error!r}")
    for process in (calm, *world.processes):
        process.close()
    return Run(seed, settings, faults, world.events, world.marks, world.wrong)


def _work(world: World) -> None:
    """Let processes work under faults."""
    steps, number = world.chance.choice(STEPS), world.chance.choice(PROCESSES)
    world.processes = [Process(world, f"p{each}", work, steps=steps) for each in range(number)]
    world.run()
    world.calm()


def _look(world: World, calm: Process) -> None:
    """Look what is left after the faults, and at the history."""
    disk = world.disk
    disk.new_line = calm.open_line
    world.wrong += [f"the caller was told that {key!r} is done" for key in sorted(world.told_done & _keys(disk))]
    # Each of the two takes as long as all that came before.
    if world.seed % 4 == 0:
        world.wrong += [f"the item {key!r} was left and never handed out" for key in drain(world, calm)]
    elif world.seed % 4 == 1:
        world.wrong += calm.engine.read(broken_rules)
    world.wrong += check(world.events, _state(world, calm))
    world.wrong += _repeated_effects(disk)


def _state(world: World, calm: Process) -> State:
    keys = _keys(world.disk)
    lists = (LIST, OTHER_LIST) if has_other_list(world) else (LIST,)
    progress = sum((Counter(msgspec.structs.asdict(calm.engine[name].progress())) for name in lists), Counter())
    counters = dict(world.disk.raw.execute("select name, value from rowlock_counters").fetchall())
    return State(len(keys), keys, progress, counters, steady_clock=not world.marks["the clock of the database jumped"])


def _keys(disk: Disk) -> set[str]:
    return {key for (key,) in disk.raw.execute("select key from rowlock_items")}


def _repeated_effects(disk: Disk) -> list[str]:
    repeated = disk.raw.execute("select position, count(*) from effects group by 1 having count(*) > 1")
    return [f"a handler's rows for position {position} were written {times} times" for position, times in repeated]
