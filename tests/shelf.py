"""Databases that are used again: emptying one takes a tenth of the time that making one does."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import psycopg
from tests.servers import Server
from tests.waiting import until

# What lies in a database differs a little between the two that one server stands for.
TEMPLATES = {"postgresql": "rowlock_template", "cockroachdb": "rowlock_template_cockroach"}
# What a database is like apart from its rows: a test that has changed any of it leaves it unfit for the next.
LIKE = """
select
    (select string_agg(number || checksum, ',' order by number) from rowlock_migrations),
    (select string_agg(c.relname || a.attname, ',' order by c.relname, a.attnum)
        from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relnamespace = 'public'::regnamespace),
    (select count(*) from pg_proc where pronamespace = 'public'::regnamespace),
    (select count(*) from pg_constraint), (select count(*) from pg_trigger), (select count(*) from pg_namespace),
    (select count(*) from pg_statistic), (select count(*) from pg_extension),
    (select count(*) from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
        where d.datname = current_database())
"""
# Dead rows are left where they are, but where they would be many.
EMPTY = """
do $$
declare found record;
begin
    set local session_replication_role = replica;
    for found in
        select c.oid::regclass as name, pg_relation_size(c.oid) as size from pg_class c
        where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'rowlock_migrations'
    loop
        if found.size > 131072 then
            execute format('truncate %s cascade', found.name);
        elsif found.size > 0 then
            execute format('delete from %s', found.name);
        end if;
    end loop;
    for found in select c.oid::regclass as name from pg_class c
        where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'
    loop
        perform setval(found.name, 1, false);
    end loop;
end $$
"""
TABLES = "select tablename from pg_tables where schemaname = 'public' and tablename <> 'rowlock_migrations'"
DATABASES = "select datname from pg_database"
# Without a timeout of its own: PostgreSQL would look ten times a second whether they have ended.
END_OTHERS = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""


class Shelf:
    """Migrated databases of one server that nobody uses just now, by the template that they came from."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._free: defaultdict[str, list[str]] = defaultdict(list)
        self._made = 0

    @contextmanager
    def lent(self, scheme: str) -> Iterator[str]:
        """The address of a migrated database without a row, nobody else's until it is given back."""
        template = TEMPLATES[scheme]
        name = self._take(template)
        yield self.server.url(name, scheme)
        self._put_back(name, template)

    @contextmanager
    def copied(self) -> Iterator[None]:
        """Let a forked process use the shelf meanwhile: it makes databases of its own, which are dropped at the end.

        Those that are kept here have a connection each, which two processes cannot share.
        """
        with self.server.connect() as connection:
            before = connection.execute(DATABASES).fetchall()
        free, self._free = self._free, defaultdict(list)
        yield
        self._free = free
        with self.server.connect() as connection:
            for (name,) in set(connection.execute(DATABASES).fetchall()) - set(before):
                connection.execute(f"drop database {name} with (force)")

    def _take(self, template: str) -> str:
        if self._free[template]:
            return self._free[template].pop()
        self._made += 1
        name = f"{template}_{self._made}"
        with self.server.connect() as connection:
            connection.execute(f"create database {name} template {template} strategy file_copy")
        return name

    def _put_back(self, name: str, template: str) -> None:
        if self._emptied(name, template):
            self._free[template].append(name)
        else:
            with self.server.connect() as connection:
                connection.execute(f"drop database {name} with (force)")

    def _emptied(self, name: str, template: str) -> bool:
        try:
            connection = self._connection(name)
            until(lambda: connection.execute(END_OTHERS).fetchone() == (0,))
            same = connection.execute(LIKE).fetchone() == self._like(template)
            if same:
                connection.execute(EMPTY)
                for table, rows in self._born_with(template).items():
                    again = f"insert into {table} select * from json_populate_recordset(null::{table}, %s)"
                    connection.execute(again, (rows,))
            return same
        except psycopg.Error:
            return False

    @cache  # noqa: B019 - one shelf lives as long as the tests do
    def _connection(self, name: str) -> "psycopg.Connection[tuple[object, ...]]":
        """Kept open: a new one would have to learn all tables anew."""
        return self.server.connect(name)

    @cache  # noqa: B019 - one shelf lives as long as the tests do
    def _born_with(self, template: str) -> dict[str, str]:
        """The rows that a migration has put into a table, as JSON."""
        with self.server.connect(template) as connection:
            tables = [row[0] for row in connection.execute(TABLES)]
            dumps = {each: connection.execute(f"select json_agg(t)::text from {each} t").fetchone() for each in tables}
        return {table: str(found[0]) for table, found in dumps.items() if found and found[0]}

    @cache  # noqa: B019 - one shelf lives as long as the tests do
    def _like(self, template: str) -> object:
        with self.server.connect(template) as connection:
            return connection.execute(LIKE).fetchone()
