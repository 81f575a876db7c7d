-- Another list in the same transaction as the first: nobody may wait here for a lock while holding one.
select l.id, l.exclusive, l.limits, l.lanes from rowlock_lists l where l.name = :name {lock_if_free}
