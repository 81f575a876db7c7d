-- A resumed list is examined by workers at once.
update rowlock_lists set state = :state, version = version + 1, wake_at = {now}
where name = :name and state <> :state
