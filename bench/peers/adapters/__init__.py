"""One module for each peer; the class in it is named `Adapter`."""

import importlib
import pkgutil

from bench.peers.contract import Peer


def names() -> list[str]:
    """Return the names of all adapters."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def adapter(name: str) -> type[Peer]:
    """Return an adapter by its name."""
    found: type[Peer] = importlib.import_module(f"{__name__}.{name}").Adapter
    return found
