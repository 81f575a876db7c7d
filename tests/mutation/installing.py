"""Puts a mutant in the place of the code, in a process that ends afterwards: nothing is put back."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType

from tests.mutation.mutants import SOURCE, Mutant

from rowlock.db import statements


@contextmanager
def installed(mutant: Mutant) -> Iterator[None]:
    """Use a mutant while the block lasts."""
    if mutant.file.endswith(".py"):
        _replace_functions(mutant)
        yield
        return
    with tempfile.TemporaryDirectory(prefix="rowlock-mutant-") as folder:
        statements.SQL = Path(folder, "sql")
        shutil.copytree(SOURCE / "sql", statements.SQL, copy_function=os.symlink)
        changed = Path(folder, mutant.file)
        changed.unlink()
        changed.write_text(mutant.text)
        yield


def _replace_functions(mutant: Mutant) -> None:
    path = str(SOURCE / mutant.file)
    changed = dict(_functions(compile(mutant.text, path, "exec")))
    gc.unfreeze()  # a function that pytest has frozen would not be found, and stay as it is
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == path:
            code = each.__code__
            each.__code__ = changed.get((code.co_qualname, code.co_firstlineno), code)


def _functions(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _functions(constant)
