-- No new items from now on; workers examine whether the list is complete.
update rowlock_lists set sealed = true, version = version + 1, wake_at = {now} where id = :list and not sealed
