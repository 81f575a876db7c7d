"""What the tests of workers say of stopping holds on other machines too."""

from tests.worker.test_stopping import *  # noqa: F403
