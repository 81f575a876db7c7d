"""What the tests of workers say of batches holds on other machines too."""

from tests.worker.test_batches import *  # noqa: F403
