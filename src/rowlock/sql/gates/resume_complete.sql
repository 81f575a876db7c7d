-- Something is owed to a complete list: it goes on until that is done too.
update rowlock_lists set state = 'open', version = version + 1, wake_at = {now} where id = :list and state = 'complete'
