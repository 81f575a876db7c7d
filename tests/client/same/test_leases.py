"""What the tests of workers say of leasing holds on other machines too."""

from tests.worker.test_leases import *  # noqa: F403
