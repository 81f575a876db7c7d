"""Diagnostics of a database: whether it can keep the promises, and whether its rows are as they must be."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from rowlock import epochs, schema
from rowlock.db import Database, Tx
from rowlock.errors import DatabaseDenied, RowlockError

FINE, INFORMATION, RISK, UNREACHABLE = "fine", "information", "risk", "unreachable"
MIN_FREE_BYTES = 256 * 1024 * 1024
MAX_CLOCK_DIFFERENCE_MILLISECONDS = 1_000
NOTIFICATION_WAIT_SECONDS = 2.0
"""How long to wait for a notification that was sent."""
EPOCH_RISK_HOURS = 24
"""How long a failover or restore that may have lost commits is shown as a risk."""
NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs"}


class Finding(msgspec.Struct, frozen=True):
    """The result of one check, and what to do if it is a risk."""

    name: str
    state: str
    what: str
    fix: str = ""


class TableSize(msgspec.Struct, frozen=True):
    """How large a table is with its indexes, or a whole file."""

    name: str
    bytes: int


class SettingRule(msgspec.Struct, frozen=True):
    """A setting of the database that a promise depends on."""

    setting: str
    good: tuple[str, ...]
    danger: str
    fix: str


SETTING_RULES = (
    SettingRule("fsync", ("on",), "a power cut can destroy the database", "set fsync = on in postgresql.conf"),
    SettingRule(
        "full_page_writes",
        ("on",),
        "a power cut can leave half-written pages",
        "set full_page_writes = on in postgresql.conf, unless the file system writes pages whole",
    ),
    SettingRule(
        "synchronous_commit",
        ("on", "local", "remote_write", "remote_apply"),
        "a crash of the server can lose confirmed commits",
        "alter database NAME set synchronous_commit = on",
    ),
    SettingRule("in_hot_standby", ("off",), "it is a standby and takes no writes", "use the address of the primary"),
    SettingRule(
        "default_transaction_read_only",
        ("off",),
        "transactions cannot write",
        "alter role NAME set default_transaction_read_only = off",
    ),
    SettingRule(
        "journal_mode", ("wal",), "readers and writers block each other", "keep the file on a local file system"
    ),
    SettingRule(
        "synchronous", ("full", "extra"), "a power cut can lose confirmed commits", "leave synchronous at full"
    ),
    SettingRule("foreign_keys", ("on",), "claims would outlive their sessions", "use a SQLite built with foreign keys"),
)

ROW_RULES = {
    "claims_out_of_bounds": "the claim {} has {} of {} items left in the interval from {} to {}",
    "claims_without_session": "the claim {} is held by the session {}, which does not exist",
    "closed_lanes": "the item {1!r} of the list {0!r} has the priority {2}, which the list does not hand out",
    "delayed_and_failed": "the item {1!r} of the list {0!r} is both delayed and failed",
    "delivered_and_waiting": "the notification of {1!r} is marked as delivered and waits on the list {0!r}",
    "forgotten_waiters": "the item {1!r} of the list {0!r} waits for a list that is complete or does not exist",
    "items_without_family": "the item {1!r} of the list {0!r} has no family and is never handed out",
    "leases_without_session": "the list {!r} is leased to the session {}, which does not exist",
    "lists_in_no_hands": "the list {!r} is marked as leased but has no lease",
    "missing_functions": "the function rowlock_{} is missing, which topics need",
    "orphans": "there are {2} {0} of the list number {1}, which does not exist",
    "overlapping_claims": "the claims {3} and {4} overlap in the list {0!r}, gate {1}, priority {2}",
    "passed_items": "the item {1!r} is at gate {2} of the list {0!r}, which is past it, at gate {3}",
    "settled_twice": "the settlement of the claim {1} of the list {0!r} was recorded {2} times",
    "shared_positions": "the position {} belongs to {} items",
    "sleeping_lists": "the list {0!r} sleeps although {1!r} is free, or is due before the list wakes",
    "tallies_off": "the tallies of the list {!r}, gate {}, differ from its items by {} items, {} delayed, {} failed",
    "unopened_gates": "the list {0!r} sleeps at gate {1} although nothing is left there and later items wait",
}
"""The statement that finds violations of a rule, and the sentence about each row that it gives."""

REPAIRS = {
    "closed_lanes": "add an item of that priority to the list: then all of them are handed out",
    "missing_functions": "restore the backup again, into a database that this version has migrated",
    "passed_items": "it is never handed out: note its data (rowlock show), abandon it and add it again",
}
"""What a user can do about a violation; others are to be reported."""

REPORT_HINT = "report it: this is a bug"


def now(tx: Tx) -> int:
    """Return the database's time in milliseconds since 1970."""
    at: int = tx.value("diagnostics/now")
    return at


def settings(tx: Tx) -> dict[str, str]:
    """Return the database's settings that promises depend on."""
    return dict(tx.rows("diagnostics/settings"))


def sizes(tx: Tx) -> list[TableSize]:
    """Return the sizes of our tables, the largest first; of a SQLite file its size."""
    return tx.structs(TableSize, "diagnostics/sizes")


def notify(tx: Tx) -> None:
    """Send the notification that work was added, as an add does; workers poll when they receive it."""
    tx.rows("diagnostics/notify")


def probe_write(tx: Tx) -> None:
    """Write the least there is; it is refused, with the rest, by a full disk or a read-only database."""
    tx.run("diagnostics/probe_write")


class MissingRight(msgspec.Struct, frozen=True):
    """A table or a sequence that the engine needs and this user may not use."""

    name: str
    is_sequence: bool
    role: str


def missing_rights(tx: Tx) -> list[MissingRight]:
    """Return the tables that this user may not read and write, and the sequences that it may not use."""
    return tx.structs(MissingRight, "diagnostics/missing_rights")


def examine(database: Database, clock: Callable[[], float]) -> Iterator[Finding]:
    """Run all checks, and yield their findings; stop early if the database does not answer.

    `clock` returns this machine's time in seconds since 1970, to compare it with the database's.
    """
    try:
        known = database.read(settings)
    except RowlockError as error:
        yield Finding("connection", UNREACHABLE, error.what, error.hint)
        return
    yield Finding("connection", FINE, f"{database.address.shown} answers")
    yield Finding("version", INFORMATION, known.get("server_version", "unknown"))
    yield _schema(database)
    yield from (_durable(rule, known[rule.setting]) for rule in SETTING_RULES if rule.setting in known)
    yield from _standbys(database, known)
    yield from _epoch(database)
    yield from _pooler(database)
    yield from _listening(database)
    yield _permissions(database)
    yield from _file(database)
    yield _clock(database, clock)


def _durable(rule: SettingRule, value: str) -> Finding:
    if value in rule.good:
        return Finding(rule.setting, FINE, value)
    return Finding(rule.setting, RISK, f"{value}: {rule.danger}", rule.fix)


def _schema(database: Database) -> Finding:
    try:
        missing = schema.pending(database)
    except RowlockError as error:
        return Finding("schema", RISK, error.what, error.hint)
    if missing:
        return Finding("schema", RISK, f"missing migrations: {len(missing)}", "run: rowlock migrate")
    return Finding("schema", FINE, f"at migration {len(schema.known(database))}, as this program needs")


class Standbys(msgspec.Struct, frozen=True):
    """How many standbys follow the server, of how many this user sees the state, and for how many a commit waits."""

    connected: int
    visible: int
    synchronous: int


def standbys(tx: Tx) -> Standbys:
    """Return how many standbys follow the server."""
    return tx.structs(Standbys, "diagnostics/standbys")[0]


def _standbys(database: Database, known: dict[str, str]) -> Iterator[Finding]:
    names = known.get("synchronous_standby_names")
    if names is None:
        return
    found = database.read(standbys)
    if not names and found.connected:
        danger = f"{found.connected} follow without a commit waiting for them: a failover can lose confirmed commits"
        fix = "set synchronous_standby_names; with Patroni synchronous_mode and synchronous_mode_strict"
        yield Finding("standbys", RISK, danger, fix)
    elif not names:
        yield Finding("standbys", INFORMATION, "none is synchronous: confirmed commits are on this server's disk alone")
    elif known.get("synchronous_commit") == "local":
        danger = "a failover can lose confirmed commits: synchronous_commit is local"
        yield Finding("standbys", RISK, danger, "alter database NAME set synchronous_commit = on")
    elif not found.synchronous and found.visible == found.connected:
        danger = f"every commit waits: none of the synchronous standbys is connected ({names})"
        yield Finding("standbys", RISK, danger, "start one of them")
    else:
        yield Finding("standbys", FINE, names)


def _epoch(database: Database) -> Iterator[Finding]:
    try:
        here, known = database.read(epochs.current), database.read(epochs.last)
    except RowlockError:  # tables are missing, or the server does not tell: other checks name that
        return
    if here is None or not known:
        return
    if not here.entered:
        yield _new_epoch(known[0], here, lossy=epochs.may_lose(known[0], here), when="since the last pass of upkeep")
    elif len(known) > 1:
        hours = (database.read(now) - known[0].entered_at) / 3_600_000
        lossy = known[0].lossy and hours < EPOCH_RISK_HOURS
        yield _new_epoch(known[1], known[0], lossy=lossy, when=f"{hours:,.1f} hours ago")
    else:
        yield Finding("epoch", FINE, f"timeline {here.timeline}; no failover and no restore was seen")


def _new_epoch(before: epochs.Epoch, after: epochs.Epoch | epochs.CurrentEpoch, *, lossy: bool, when: str) -> Finding:
    what = f"a failover or restore {when}: the timeline changed from {before.timeline} to {after.timeline}"
    if before.is_copy(after):
        what = f"a backup was restored {when}: the server or the tables are others than before"
    if not lossy:
        return Finding("epoch", INFORMATION, what)
    fix = "add lost items again, raise counters above the numbers in use: see docs/guides/backups.md, After a restore"
    return Finding("epoch", RISK, f"{what}; the last commits before it may be lost", fix)


def _pooler(database: Database) -> Iterator[Finding]:
    if not database.driver.pooled():
        return
    if database.address.pooler == "auto":
        what = "a connection pooler was detected; it is treated as one in transaction mode"
        fix = "add pooler=transaction to the address, or pooler=session if the pooler runs in session mode"
        yield Finding("pooler", INFORMATION, what, fix)
    else:
        yield Finding("pooler", FINE, "a connection pooler in transaction mode, as the address says")


def _listening(database: Database) -> Iterator[Finding]:
    listen = database.address.listen
    if listen is None:
        if database.driver.pooled():
            what = "no notification arrives through the pooler: workers poll once a second"
            yield Finding("listening", INFORMATION, what, "set listen_url to the direct address of the server")
        return
    fix = "set listen_url to the direct address of the same server and database, or leave it out"
    try:
        heard = _hears(database)
    except RowlockError as error:
        yield Finding("listening", RISK, f"{error.what}; workers poll once a second", error.hint or fix)
        return
    if heard:
        yield Finding("listening", FINE, f"notifications arrive by {listen.shown}")
    else:
        yield Finding("listening", RISK, f"no notification arrives by {listen.shown}", fix)


def _hears(database: Database) -> bool:
    listener = database.clone(connections=1, patience=0, listening=True)
    try:
        listener.wait_for_hint(0)
        database.read(notify)
        return listener.wait_for_hint(NOTIFICATION_WAIT_SECONDS) is not None
    finally:
        listener.close()


def _permissions(database: Database) -> Finding:
    schema = database.address.schema
    try:
        missing = database.read(missing_rights)
    except DatabaseDenied:  # it may not even look for tables there
        fix = f"grant usage on schema {schema} to NAME; then run doctor again"
        return Finding("permissions", RISK, f"this user may not use the schema {schema}", fix)
    if missing:
        return _missing_permissions(missing, prefix=f"{schema}." if schema else "")
    path = Path(database.address.target)
    if database.address.dialect == "sqlite" and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        danger = f"{database.address.shown} or its folder cannot be written by this user"
        return Finding("permissions", RISK, danger, "check the owner and mode of both")
    return Finding("permissions", FINE, "this user may read and write")


def _missing_permissions(missing: list[MissingRight], *, prefix: str) -> Finding:
    tables = ", ".join(f"{prefix}{each.name}" for each in missing if not each.is_sequence)
    sequences = ", ".join(f"{prefix}{each.name}" for each in missing if each.is_sequence)
    role = missing[0].role
    dangers, grants = [], []
    if tables:
        dangers.append(f"read and write {tables}")
        grants.append(f"grant select, insert, update, delete on {tables} to {role};")
    if sequences:
        dangers.append(f"use the sequences {sequences}")
        grants.append(f"grant usage on sequence {sequences} to {role};")
    return Finding("permissions", RISK, f"this user may not {' nor '.join(dangers)}", " ".join(grants))


def _file(database: Database) -> Iterator[Finding]:
    if database.address.dialect != "sqlite":
        return
    folder = Path(database.address.target).resolve().parent
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    text = f"{free / 2**20:,.0f} MB are free in {folder}"
    is_enough = free >= MIN_FREE_BYTES
    yield Finding("disk space", FINE if is_enough else RISK, text, "" if is_enough else "free some space")
    kind = _file_system(folder)
    if kind in NETWORK_FILE_SYSTEMS:
        danger = f"{kind} is shared over a network, where a write-ahead log can be damaged"
        yield Finding("file system", RISK, danger, "keep the file on a local disk, or use PostgreSQL")


def _file_system(folder: Path) -> str:
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    holding = [(len(point), kind) for point, kind in mounts if folder.is_relative_to(point)]
    return max(holding)[1] if holding else ""


def _clock(database: Database, clock: Callable[[], float]) -> Finding:
    before = clock()
    apart = round(database.read(now) - (before + clock()) * 500)
    if abs(apart) < MAX_CLOCK_DIFFERENCE_MILLISECONDS:
        return Finding("clock", INFORMATION, "this machine agrees with the database")
    side = "ahead of" if apart > 0 else "behind"
    what = f"the database is {abs(apart) / 1000:,.1f} s {side} this machine; only its own clock counts"
    return Finding("clock", INFORMATION, what)


class Violation(msgspec.Struct, frozen=True):
    """A rule that stored rows break."""

    what: str
    hint: str


def violations(tx: Tx) -> list[Violation]:
    """Return every violation of a rule, with what to do. Scans all items."""
    return [
        Violation(sentence.format(*row), REPAIRS.get(name, REPORT_HINT))
        for name, sentence in ROW_RULES.items()
        for row in tx.rows(f"diagnostics/rule_{name}")
    ]


def broken_rules(tx: Tx) -> list[str]:
    """Return every violation of a rule as a sentence."""
    return [each.what for each in violations(tx)]
