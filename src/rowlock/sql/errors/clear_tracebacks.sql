-- Only the last failure of an item keeps its traceback: a new one is about to be recorded.
update rowlock_errors set traceback = null where list = :list and key {among_keys} and traceback is not null
