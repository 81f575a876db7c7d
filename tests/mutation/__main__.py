"""Run tests against mutants and tell which of them no test notices.

python -m tests.mutation                      all modules on SQLite, then what PostgreSQL runs; hours of CPU
python -m tests.mutation gates --part 1/4     a quarter of the mutants of one module
python -m tests.mutation --report             scores and survivors so far

A run that was stopped goes on where it was. What was found is in .mutation: remove it to begin anew.
"""

import argparse
import sys
from collections.abc import Sequence
from random import Random

import pytest
from tests.mutation.mutants import MODULES, ROOT, Mutant, equivalents, mutants
from tests.mutation.running import RESULTS, Result, Runner, read

VERBS = """
attempts claims claims_by_lane claims_late claims_of_several counters counts data dependencies done_keys epochs
exclusive failures flushes gates group_commit heartbeats integrity intervals items_gone lease_holders leases
leases_many limits lists neighbours remote_claims saves sessions sessions_of_other_processes settle_again
settlements single_statements stored_rules suspects times transactions upkeep using
"""
OTHERS = ("tests/unit/test_shares.py", "tests/unit/test_claim_hints.py", "tests/unit/test_letters.py")


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="all if left out")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every Nth mutant from the Kth on")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seconds", type=float, default=15, help="CPU time of the tests against one mutant, at most")
    parser.add_argument("--seeds", type=int, default=400, help="how many seeds of the simulation follow")
    parser.add_argument("--first", default="", metavar="PATTERN", help="tests that are tried before others")
    parser.add_argument("--again", action="store_true", help="try again those that have survived")
    parser.add_argument("--report", action="store_true", help="run nothing, show what was found")
    given = parser.parse_args()
    folder = ROOT / ".mutation"
    folder.mkdir(exist_ok=True)
    if not given.report:
        chosen = _chosen(given, read(folder / RESULTS))
        files = [*(f"tests/verbs/test_{each}.py" for each in VERBS.split()), *OTHERS]
        options = ["-q", "--assert=plain", "--timeout=0", "-p", "no:cacheprovider"]
        pytest.main([*options, *files], plugins=[Runner(folder, chosen, given)])
    return _report(read(folder / RESULTS))


def _chosen(given: argparse.Namespace, results: Sequence[Result]) -> list[Mutant]:
    """Return the mutants to try: on PostgreSQL its own, and those that survived where both have one statement."""
    noticed = {each.name for each in results if each.noticed_by}
    survived = {each.name for each in results} - noticed
    known = {each.name for each in results if each.database == given.database}
    first, _, step = given.part.partition("/")
    every = mutants(*given.modules)[int(first) - 1 :: int(step)]
    wanted = [each for each in every if each.name not in equivalents()]
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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
