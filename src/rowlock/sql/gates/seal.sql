-- No new items from here on; workers look whether it is complete.
update rowlock_lists set sealed = true, version = version + 1, wake_at = {now} where id = :list and not sealed
