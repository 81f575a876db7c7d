-- The next gate is open, once: whoever saw another gate changes nothing. Workers look at the list at once.
update rowlock_lists set gate = :gate, version = version + 1, wake_at = {now} where id = :list and gate = :was
