-- The end of a list: it takes no items, hands none out and is not looked at until somebody reopens it.
update rowlock_lists set state = 'complete', sealed = true, version = version + 1, wake_at = null
where id = :list and state <> 'complete'
