-- Nobody adds to the list until this is committed: items that were added meanwhile would have no family.
select l.id from rowlock_lists l where l.id = :list {lock_exclusive}
