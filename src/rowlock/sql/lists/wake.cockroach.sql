-- There are no notifications here: whoever waits looks again now and then.
update rowlock_lists set wake_at = {now} where id = :list and (wake_at is null or wake_at > {now})
