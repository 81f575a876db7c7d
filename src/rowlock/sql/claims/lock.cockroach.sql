-- Every commit is replicated here; there is nothing to put off.
select l.id, l.exclusive, l.limits, l.lanes from rowlock_lists l where l.name = :name {lock}
