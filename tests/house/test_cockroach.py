"""No statement that CockroachDB is given uses what it lacks by its documentation; it is not here to be asked.

Where PostgreSQL's statement does, CockroachDB has a variant. The facts are those of its versions 24 to 26.
"""

import re
from collections import Counter

import pytest

from rowlock.db.postgres import COCKROACH
from rowlock.db.statements import Statements, names
from rowlock.schema import MIGRATIONS

# What it lacks, why it matters, and a statement that uses it.
LACKS = [
    (r"advisory_", "functions of advisory locks do nothing", "select pg_advisory_xact_lock(1)"),
    (r"\b(pg_notify|notify|listen)\b", "there are no notifications", "select pg_notify('rowlock', '7')"),
    (r"\b(ctid|xmin|xmax|cmin|cmax)\b", "rows have no such system columns", "select l.ctid from rowlock_lists l"),
    (r"\block table\b", "tables cannot be locked", "lock table rowlock_lists in share mode"),
    (r"\bplpgsql\b|\btrigger\b", "triggers are new and run at no commit", "create constraint trigger t after insert"),
    (r"\bdeferr(able|ed)\b", "constraints cannot be deferred", "unique (a) deferrable initially deferred"),
    (r"\bexclude\b", "there are no exclusion constraints", "exclude using gist (during with &&)"),
    (r"\busing (gist|spgist|brin|hash)\b", "there are no such indexes", "create index i on t using brin (at)"),
    (r"\busing gin\b", "there is no such index of numbers", "create index i on t using gin (a)"),
    (r"\b(int4|int8|num|ts|tstz|date)(multi)?range\b", "there are no range types", "select int8range(1, 5)"),
    (r"\bcreate domain\b", "there are no domains", "create domain key as text"),
    (r"\bautovacuum_(?!enabled)\w+", "the parameter is refused", "with (autovacuum_vacuum_threshold = 9)"),
    (r"\btemplate\b", "a database is not made from a template", "create database b template a"),
    (r"\b(vacuum|reindex|cluster)\b", "there is no such command", "vacuum rowlock_items"),
    (r"\bxml\w*", "there are no functions of XML", "select xmlforest(a)"),
    (r"\bmerge into\b", "there is no merge", "merge into rowlock_items as i using given on true"),
    (r"\b(grouping sets|rollup|cube)\b", "there are no grouping sets", "select a from t group by rollup (a)"),
    (r"\bscroll\b|\bbinary cursor\b", "cursors go forward only", "declare c scroll cursor for select 1"),
    (r"\bset constraints\b", "there are no deferred constraints to set", "set constraints all immediate"),
    (r"\bselect\s+from\b", "before 24.1 a select must name a column", "select 1 where exists (select from t)"),
    (r"\bon conflict \([^)]*\(", "a conflict is found by columns alone", "on conflict (lower(a)) do nothing"),
    (
        r"\s/(?!\s*(\d+\.\d|%\(\w+\)s as bigint\)))",
        "the quotient of two integers is a decimal: divide by a decimal, or cast what has no rest",
        "select now / width * width",
    ),
    (
        r"\bpg_(current_wal|walfile|control_|stat_replication|total_relation_size|relation_size|is_in_recovery)\w*",
        "there is no log of one server, no standby and no size of a table",
        "select pg_current_wal_lsn()",
    ),
    (r"'plan_cache_mode'|'enable_\w+'", "it has another planner", "set_config('plan_cache_mode', 'auto', true)"),
]
REASONS = [(re.compile(pattern), reason) for pattern, reason, _ in LACKS]

_CHANGED = re.compile(r"\b(?:insert into|update|delete from)\s+(rowlock_\w+)")
_COMMENT = re.compile(r"--.*")


def given() -> dict[str, str]:
    """All that it is given: statements with their parts and fragments, and migrations."""
    statements = Statements(COCKROACH)
    texts = {name: statements.get(name).text for name in names()}
    for dialect in reversed(COCKROACH.names):
        for path in sorted(MIGRATIONS.glob(f"*.{dialect}.sql")):
            texts[f"migrations/{path.name.partition('.')[0]}"] = _COMMENT.sub("", path.read_text())
    return texts


def lacking(text: str) -> list[str]:
    """Why it would not run a statement, or run it otherwise."""
    return [reason for pattern, reason in REASONS if pattern.search(text)]


def changed_twice(text: str) -> list[str]:
    """The tables that one statement changes in two places."""
    return [table for table, count in Counter(_CHANGED.findall(text)).items() if count > 1]


def test_cockroachdb_is_given_nothing_that_it_lacks() -> None:
    assert {name: reasons for name, text in given().items() if (reasons := lacking(text))} == {}


def test_no_statement_for_cockroachdb_changes_one_table_twice() -> None:
    statements = {name: text for name, text in given().items() if ";" not in text}
    assert len(statements) > 300
    assert {name: tables for name, text in statements.items() if (tables := changed_twice(text))} == {}


@pytest.mark.parametrize(("pattern", "reason", "bad"), LACKS, ids=[reason for _, reason, _ in LACKS])
def test_what_cockroachdb_lacks_is_seen(pattern: str, reason: str, bad: str) -> None:
    assert reason in lacking(bad)
    assert re.search(pattern, "select (n - n %% 7) / %(parts)s as bigint), seconds / 1000.0 from rowlock_items") is None


def test_a_statement_that_changes_a_table_twice_is_seen() -> None:
    twice = "with a as (delete from rowlock_items returning key) update rowlock_items set key = key from a"
    assert changed_twice(twice) == ["rowlock_items"]
    assert changed_twice("insert into rowlock_items (key) select 1 on conflict (key) do update set key = 1") == []
