"""Lists that sleep although an item is free: nobody was told of it, so that no worker would claim it."""

from tests.simulation.world import World

CLOCK_MILLISECONDS = 2
"""How far the database's time may be from the simulation's, by rounding."""
SLEEPERS = """
select l.name, i.key from rowlock_lists l join rowlock_items i on i.list = l.id and i.gate = l.gate
where l.state = 'open' and not l.exclusive and (l.wake_at is null or l.wake_at > :now)
    and not exists (select 1 from rowlock_wakes w where w.list = l.id)
    and i.due is null and i.failed_at is null and not exists (
        select 1 from rowlock_claims c
        where c.list = i.list and c.gate = i.gate and c.priority = i.priority
            and c.low < i.position and c.high >= i.position
    )
    and coalesce(json_extract(l.limits, '$.concurrency'), 1000) > (
        select coalesce(sum(c.remaining), 0) from rowlock_claims c where c.list = l.id
    )
order by l.name, i.key
"""
"""An exclusive list is left out: its holder examines it, and nobody else may."""


def looks_for_sleepers(world: World) -> bool:
    """Return whether to look now: in some seeds, while nobody writes and unless the clock was set."""
    is_steady = "jump" not in world.faults
    return world.seed % 8 in (2, 6, 7) and is_steady and world.disk.writer is None


def sleepers(world: World) -> list[str]:
    """Return a sentence for each free item of a list that sleeps and that nobody has woken."""
    now = round(world.disk.time * 1_000) + CLOCK_MILLISECONDS
    found = world.disk.raw.execute(SLEEPERS, {"now": now})
    return [f"the list {name!r} sleeps although {key!r} is free" for name, key in found]
