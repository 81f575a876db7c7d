"""Fuzz one parser, guided by coverage, until it fails: `python -m tests.security.fuzzing "CSV" -max_total_time=600`.

It needs atheris, which is not among the packages of the tests: `pip install atheris`. Without a name it lists them.
"""

import sys

import atheris

with atheris.instrument_imports(include=["rowlock"]):
    from tests.security.test_parsers import PARSERS, check


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in PARSERS:
        sys.exit("\n".join(PARSERS))
    looked_at = check(sys.argv.pop(1))
    atheris.Setup(sys.argv, lambda data: looked_at(data.decode(errors="replace")))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
