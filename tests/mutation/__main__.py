"""Run tests against mutants and tell which of them no test notices.

python -m tests.mutation                      all modules on SQLite, then what PostgreSQL runs; hours of CPU
python -m tests.mutation gates --part 1/4     a quarter of the mutants of one module
python -m tests.mutation --unchanged          the files as they are: a test that notices one proves nothing
python -m tests.mutation --report             scores and survivors so far

A run that was stopped goes on where it was. What was found is in .mutation: remove it to begin anew.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from tests.mutation.mutants import MODULES, ROOT, Mutant, equivalents, mutants, unchanged
from tests.mutation.running import RESULTS, UNCHANGED_RESULTS, Result, Runner, read

VERBS = """
attempts awaited_gates claims claims_by_lane claims_late claims_of_several counters counts data dependencies
done_keys epochs exclusive failures flushes gates group_commit heartbeats integrity intervals items_gone
lease_holders leases leases_many limits lists neighbours remote_claims saves sessions
sessions_of_other_processes settle_again settled_rows settlements single_statements stored_rules suspects times
transactions upkeep using
"""
OTHERS = [f"tests/unit/test_{each}.py" for each in ("claim_hints", "letters", "outcomes", "shares")]


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="all if left out")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every Nth mutant from the Kth on")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seconds", type=float, default=15, help="CPU time of the tests against one mutant, at most")
    parser.add_argument("--seeds", type=int, default=400, help="how many seeds of the simulation follow")
    parser.add_argument("--first", default="", metavar="PATTERN", help="tests that are tried before others")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants whose name contains this")
    parser.add_argument("--again", action="store_true", help="try again those that have survived")
    parser.add_argument("--unchanged", action="store_true", help="change nothing, and fail if a test notices it")
    parser.add_argument("--tests", nargs="+", metavar="FILE", help="test files, all that are known if left out")
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutation", help="where to keep what was found")
    parser.add_argument("--report", action="store_true", help="run nothing, show what was found")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    if given.unchanged:
        (given.folder / UNCHANGED_RESULTS).unlink(missing_ok=True)
        _run(given, _unchanged(given))
        return _report_unchanged(read(given.folder / UNCHANGED_RESULTS))
    if not given.report:
        _run(given, _chosen(given, read(given.folder / RESULTS)))
    return _report(read(given.folder / RESULTS))


def _run(given: argparse.Namespace, chosen: Sequence[Mutant]) -> None:
    files = given.tests or [*(f"tests/verbs/test_{each}.py" for each in VERBS.split()), *OTHERS]
    options = ["-q", "--assert=plain", "--timeout=0", "-p", "no:cacheprovider"]
    pytest.main([*options, *files], plugins=[Runner(given.folder, chosen, given)])


def _part(given: argparse.Namespace, every: Sequence[Mutant]) -> list[Mutant]:
    first, _, step = given.part.partition("/")
    return [each for each in every[int(first) - 1 :: int(step)] if given.only in each.name]


def _unchanged(given: argparse.Namespace) -> list[Mutant]:
    """Return the files that the database runs."""
    on_sqlite = given.database == "sqlite"
    return [
        each
        for each in _part(given, unchanged(*given.modules))
        if (each.database == "sqlite" if on_sqlite else each.is_shared or each.database != "sqlite")
    ]


def _chosen(given: argparse.Namespace, results: Sequence[Result]) -> list[Mutant]:
    """Return the mutants to try: on PostgreSQL its own, and those that survived where both have one statement."""
    noticed = {each.name for each in results if each.noticed_by}
    survived = {each.name for each in results} - noticed
    known = {each.name for each in results if each.database == given.database}
    wanted = [each for each in _part(given, mutants(*given.modules)) if each.name not in equivalents()]
    if given.database == "sqlite":
        wanted = [each for each in wanted if each.database == "sqlite"]
    else:
        wanted = [each for each in wanted if each.database != "sqlite" or (each.is_shared and each.name in survived)]
    left = [each for each in wanted if (each.name in survived if given.again else each.name not in known)]
    return Random(0).sample(left, len(left))  # so that a run that is stopped has tried some of everything


def _report(results: Sequence[Result]) -> int:
    noticed = {each.name for each in results if each.noticed_by}
    tried = {each.name for each in results}
    equivalent = equivalents()
    for module in MODULES:
        known = [each.name for each in mutants(module)]
        judged = [name for name in known if name in tried and name not in equivalent]
        survived = [name for name in judged if name not in noticed]
        count = len(judged) - len(survived)
        share = f"{count / len(judged):6.1%}" if judged else "     –"
        same = sum(name in equivalent for name in known)
        _say(f"{module:12} {share}  {count} of {len(judged)} noticed; {same} equivalent of {len(known)}")
        for name in survived:
            _say(f"    {name}")
    return 0


def _report_unchanged(results: Sequence[Result]) -> int:
    """Say which tests fail although nothing is changed; return 1 if there are any, or none was tried."""
    noticed = [each for each in results if each.noticed_by]
    _say(f"{len(noticed)} of {len(results)} unchanged files noticed")
    for each in noticed:
        _say(f"    {each.name}: {each.noticed_by}")
    return int(bool(noticed) or not results)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
