"""Writes the counter-examples of the model anew."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.model.checking import FOLDER, GUARDS, check, steps

for guard, invariant in GUARDS.items():
    with TemporaryDirectory() as folder:
        printed = check([name for name in GUARDS if name != guard], [invariant], Path(folder))
    (FOLDER / "counterexamples" / f"{guard}.txt").write_text(steps(printed))
