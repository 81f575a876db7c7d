-- Nobody needs to be told: whoever waits watches the file.
update rowlock_lists set wake_at = {now} where id = :list and (wake_at is null or wake_at > {now})
