-- Nobody is adding to the list, and nobody begins to before this is committed: what is added meanwhile would have no family.
select l.id from rowlock_lists l where l.id = :list for update
