"""rowlock beside its peers: one contract, one adapter for each peer, one harness that runs in the peer's environment.

Modules of this package import no rowlock and no peer at their head: they run in environments where one of them is
missing.
"""
