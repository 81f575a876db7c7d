"""Handlers about the service itself: is it alive, is it ready, what are its bounds, what does it offer."""

import asyncio

import rowlock
from rowlock import schema
from rowlock.api.limits import ServerLimits
from rowlock.api.service import Alive, HealthCheck, Ready
from rowlock.diagnostics import now, probe_write
from rowlock.errors import RowlockError
from rowlock.http.call import Answer, Call
from rowlock.http.executor import VerbExecutor
from rowlock.http.problems import without_address

PATIENCE = 2.0


async def livez(call: Call) -> Alive:  # noqa: ARG001
    """Whether the process answers; it asks nothing else."""
    return Alive("ok", rowlock.__version__)


async def readyz(call: Call) -> Answer:
    """Whether requests can be served: the database answers, has its tables, takes writes, and nobody has said stop."""
    checks = [HealthCheck("stopping", well=not call.service.stopping), await _database(call)]
    well = all(check.well for check in checks)
    shown = checks if call.query.verbose is not None else []
    return Answer(Ready("ok" if well else "not ready", shown), 200 if well else 503)


async def health(call: Call) -> Answer:
    """Whether the database answers, and the processors that this service sends items to; each that is ill is named."""
    checks = [await _database(call)]
    worker = call.service.worker
    if worker is not None:
        ill = await call.service.executor.run_in_thread(worker.health)
        checks += [HealthCheck(name, well=False, what=wrong) for name, wrong in ill.items() if name != "store"]
    well = all(check.well for check in checks)
    return Answer(Ready("ok" if well else "ill", checks), 200 if well else 503)


async def _database(call: Call) -> HealthCheck:
    service = call.service
    try:
        async with asyncio.timeout(PATIENCE):
            await service.executor.run_in_thread(lambda: _look(service.executor))
    except RowlockError as error:
        return HealthCheck("database", well=False, what=without_address(error, service.engine).what)
    except TimeoutError:
        return HealthCheck("database", well=False, what=f"it has not answered within {PATIENCE:g} seconds")
    return HealthCheck("database", well=True)


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
