"""The schema: numbered migrations, forward only, one at a time under a lock, each in its own transaction."""

from hashlib import sha256
from pathlib import Path

import msgspec

from rowlock.db import Database, Transaction
from rowlock.errors import SchemaBroken, SchemaMissing, SchemaTooNew

MIGRATIONS = Path(__file__).parent / "migrations"


class Migration(msgspec.Struct, frozen=True):
    """One step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """What an applied step is known by."""
        return sha256(self.sql.encode()).hexdigest()


def known(database: Database) -> list[Migration]:
    """The steps that this program carries for the database's dialect, in order."""
    found: dict[int, Migration] = {}
    for dialect in reversed(database.dialect.names):
        for path in MIGRATIONS.glob(f"*.{dialect}.sql"):
            number, _, name = path.name.partition(".")[0].partition("_")
            found[int(number)] = Migration(int(number), name, path.read_text())
    return [found[number] for number in sorted(found)]


def pending(database: Database) -> list[Migration]:
    """The steps that `migrate` would take; a database that a newer program has migrated is refused."""
    try:
        applied = database.read(_applied)
    except SchemaMissing:
        applied = {}
    return _missing(database, applied)


def migrate(database: Database) -> list[Migration]:
    """Take all missing steps; those taken. Safe to call from many processes at once, and after being killed."""
    taken = []
    while step := database.run(_take_next, database):
        taken.append(step)
    return taken


def migrate_within(tx: Transaction, database: Database) -> None:
    """Take all missing steps in a transaction of somebody else: they last if and only if it is committed."""
    while _take_next(tx, database):
        pass


def born(tx: Transaction) -> int:
    """When the database was made ours, in milliseconds: what tells it from others whose items have the same places."""
    at: int = tx.value("migrations/born")
    return at


def require(database: Database) -> None:
    """Refuse a database that lacks a step, or has one that this program does not know."""
    missing = pending(database)
    if missing:
        what = f"{database.address.shown} lacks {len(missing)} of {len(known(database))} migrations"
        raise SchemaMissing(what, f"run: rowlock -d '{database.address.shown}' migrate")


def _take_next(tx: Transaction, database: Database) -> Migration | None:
    tx.rows("migrations/lock")
    tx.run("migrations/create")
    applied = _applied(tx)
    missing = _missing(database, applied)
    if not missing:
        return None
    if not applied:
        _refuse_others(tx, database)
    step = missing[0]
    tx.script(step.sql)
    tx.run("migrations/record", number=step.number, name=step.name, checksum=step.checksum)
    return step


def _refuse_others(tx: Transaction, database: Database) -> None:
    """Refuse a database in which something else has made tables with our names."""
    if others := [name for (name,) in tx.rows("migrations/others")]:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        what = f"{database.address.shown} has a table {others[0]}{more} that no migration has made"
        raise SchemaBroken(what, "use another database or schema, or move that table away")


def _applied(tx: Transaction) -> dict[int, str]:
    return {number: checksum for number, _, checksum in tx.rows("migrations/applied")}


def _missing(database: Database, applied: dict[int, str]) -> list[Migration]:
    steps = known(database)
    shown = database.address.shown
    if applied and max(applied) > steps[-1].number:
        what = f"{shown} is at schema {max(applied)}, this program knows {steps[-1].number}"
        raise SchemaTooNew(what, "upgrade rowlock on this machine")
    for step in steps:
        if applied.get(step.number, step.checksum) != step.checksum:
            what = f"migration {step.number} of {shown} is not the one this program carries"
            raise SchemaBroken(what, "use the rowlock that made it, or restore a copy")
    return [step for step in steps if step.number not in applied]
