-- An item is added to a complete list, which is opened again until it is done.
update rowlock_lists set state = 'open', version = version + 1, wake_at = {now} where id = :list and state = 'complete'
