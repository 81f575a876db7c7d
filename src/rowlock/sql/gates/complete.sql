-- A complete list takes no items, hands none out and is not examined until it is reopened.
update rowlock_lists set state = 'complete', sealed = true, version = version + 1, wake_at = null
where id = :list and state <> 'complete'
