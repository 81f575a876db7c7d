-- Opens a gate once: a transaction that saw another gate changes nothing. Workers examine the list at once.
update rowlock_lists set gate = :gate, version = version + 1, wake_at = {now} where id = :list and gate = :was
