"""What the tests of workers say of leasing holds on other machines too."""

from tests.worker.test_leasing import *  # noqa: F403
