"""Routes about the service itself: is it alive, is it ready, what are its bounds, what does it offer."""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

import rowlock
from rowlock import schema
from rowlock.diagnostics import now, probe_write
from rowlock.errors import RowlockError
from rowlock.http.call import Answer, Call
from rowlock.http.executor import VerbExecutor
from rowlock.http.limits import ServerLimits
from rowlock.http.problems import without_address
from rowlock.http.texts import form

PATIENCE = 2.0


class Alive(msgspec.Struct, frozen=True):
    """The process answers."""

    status: str
    version: str


class ReadyQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much to say."""

    verbose: Annotated[str, Meta(description="Say what was looked at.")] | None = None


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    well: bool
    what: str = ""


class Ready(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether requests can be served."""

    status: str
    checks: list[Finding] = []


async def livez(call: Call) -> Alive:  # noqa: ARG001
    """Whether the process answers; it asks nothing else."""
    return Alive("ok", rowlock.__version__)


async def readyz(call: Call) -> Answer:
    """Whether requests can be served: the database answers, has its tables, takes writes, and nobody has said stop."""
    checks = [Finding("stopping", well=not call.service.stopping), await _database(call)]
    well = all(check.well for check in checks)
    shown = checks if call.query.verbose is not None else []
    return Answer(Ready("ok" if well else "not ready", shown), 200 if well else 503)


async def health(call: Call) -> Answer:
    """Whether the database answers, and the processors that this service sends items to; each that is ill is named."""
    checks = [await _database(call)]
    worker = call.service.worker
    if worker is not None:
        ill = await call.service.executor.run_in_thread(worker.health)
        checks += [Finding(name, well=False, what=wrong) for name, wrong in ill.items() if name != "store"]
    well = all(check.well for check in checks)
    return Answer(Ready("ok" if well else "ill", checks), 200 if well else 503)


async def _database(call: Call) -> Finding:
    service = call.service
    try:
        async with asyncio.timeout(PATIENCE):
            await service.executor.run_in_thread(lambda: _look(service.executor))
    except RowlockError as error:
        return Finding("database", well=False, what=without_address(error, service.engine).what)
    except TimeoutError:
        return Finding("database", well=False, what=f"it has not answered within {PATIENCE:g} seconds")
    return Finding("database", well=True)


def _look(executor: VerbExecutor) -> None:
    engine = executor.engine
    schema.require(engine.database)
    engine.read(now)
    if executor.writes_refused:  # only then: whoever asks for our health must not make us write
        engine.database.run(probe_write)
        executor.writes_refused = False


async def limits(call: Call) -> ServerLimits:
    """Every bound of the service: sizes in bytes, times in seconds."""
    return call.service.limits


async def description(call: Call) -> Answer:
    """What this service offers, described as OpenAPI 3.1."""
    return Answer(call.service.description(call.root_path))


@form(Ready)
def _lines(ready: Ready) -> str:
    marks = {True: "ok", False: "wrong"}
    said = [f"{marks[check.well]}\t{check.name}{f': {check.what}' if check.what else ''}\n" for check in ready.checks]
    return "".join([*said, f"{ready.status}\n"])
