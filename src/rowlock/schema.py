"""The schema: numbered migrations, forward only, one at a time under a lock, each in its own transaction."""

import shlex
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from rowlock import config
from rowlock.db import Address, Database, Tx
from rowlock.errors import SchemaBroken, SchemaMissing, SchemaTooNew

MIGRATIONS = Path(__file__).parent / "migrations"


class Migration(msgspec.Struct, frozen=True):
    """One migration."""

    number: int
    name: str
    sql: str
    checksum: str
    """Of its text: a migration that was applied never changes."""


class AppliedMigration(msgspec.Struct, frozen=True):
    """A migration that a database has."""

    number: int
    name: str
    checksum: str


def known(database: Database) -> list[Migration]:
    """Return the migrations of this program for the database's dialect, in order."""
    return list(_known(database.driver.dialect.names))


@cache
def _known(dialects: tuple[str, ...]) -> list[Migration]:
    by_number: dict[int, Migration] = {}
    for dialect in reversed(dialects):
        for path in MIGRATIONS.glob(f"*.{dialect}.sql"):
            number, _, name = path.name.partition(".")[0].partition("_")
            sql = path.read_text()
            by_number[int(number)] = Migration(int(number), name, sql, sha256(sql.encode()).hexdigest())
    return [by_number[number] for number in sorted(by_number)]


def pending(database: Database) -> list[Migration]:
    """Return the migrations that `migrate` would apply; a database that a newer program has migrated is refused."""
    try:
        applied = database.read(_applied)
    except SchemaMissing:
        applied = {}
    return _missing(database, applied)


def migrate(database: Database) -> list[Migration]:
    """Apply and return all missing migrations. Safe from many processes at once, and again after a crash."""
    applied = []
    while migration := database.run(_apply_next, database):
        applied.append(migration)
    return applied


def migrate_within(tx: Tx, database: Database) -> None:
    """Apply all missing migrations in a caller's transaction: they commit with it."""
    while _apply_next(tx, database):
        pass


def born(tx: Tx) -> int:
    """Return when the first migration ran, in milliseconds: it tells databases apart whose items have equal numbers."""
    at: int = tx.value("migrations/first_applied_at")
    return at


def require(database: Database) -> None:
    """Refuse a database that lacks a migration, or has one that this program does not know."""
    missing = pending(database)
    if missing:
        what = f"{database.address.shown} lacks {len(missing)} of {len(known(database))} migrations"
        raise SchemaMissing(what, _migrate_hint(database.address))


def _migrate_hint(address: Address) -> str:
    """Return a command that a user can copy: secrets are left to the environment."""
    if config.opens(address):
        return "run: rowlock migrate"
    hint = f"run: rowlock -d {shlex.quote(address.pasteable)} migrate"
    return f"set PGPASSWORD to the password, then {hint}" if "***" in address.shown else hint


def _apply_next(tx: Tx, database: Database) -> Migration | None:
    tx.rows("migrations/lock")
    if database.address.schema:
        _enter_schema(tx, database.address.schema)
    tx.run("migrations/create")
    applied = _applied(tx)
    missing = _missing(database, applied)
    if not missing:
        return None
    if not applied:
        _refuse_others(tx, database)
    step = missing[0]
    tx.connection.script(step.sql)
    tx.run("migrations/record", number=step.number, name=step.name, checksum=step.checksum)
    return step


def _enter_schema(tx: Tx, schema: str) -> None:
    """Create the schema if it is missing, and let the names of migrations mean tables in it until the commit."""
    if not tx.value("migrations/schema_exists", schema=schema):
        tx.run("migrations/create_schema")
    tx.rows("migrations/enter_schema", schema=schema)


def _refuse_others(tx: Tx, database: Database) -> None:
    """Refuse a database with tables of our names that no migration has made."""
    if others := [name for (name,) in tx.rows("migrations/existing_tables")]:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        what = f"{database.address.shown} has a table {others[0]}{more} that no migration has made"
        raise SchemaBroken(what, "use another database or schema, or move that table away")


def _applied(tx: Tx) -> dict[int, str]:
    return {each.number: each.checksum for each in tx.structs(AppliedMigration, "migrations/applied")}


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
