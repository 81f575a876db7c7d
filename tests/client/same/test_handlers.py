"""What the tests of workers say of handlers holds on other machines too."""

from tests.worker.test_handlers import *  # noqa: F403
