"""Commands of a worker: what they need, and what is said if it is missing."""

import tempfile
from pathlib import Path

import pytest

from rowlock import Unavailable
from rowlock.worker.exec.process_groups import ProcessGroups


def test_without_a_folder_for_temporary_files_the_error_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(Unavailable, match="set TMPDIR to a folder"):
        ProcessGroups({})
