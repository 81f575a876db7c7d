-- Claimers of one list take turns. A claim is not flushed: one that a crash of the database forgets is one that nobody
-- can settle, so its items are simply free again.
select l.id, set_config('synchronous_commit', 'off', true) from rowlock_lists l where l.name = :name {lock}
