-- CockroachDB: every commit is replicated, so there is no flush to put off, and no planner settings.
select l.id, l.exclusive, l.limits, l.lanes from rowlock_lists l where l.name = :name {lock}
