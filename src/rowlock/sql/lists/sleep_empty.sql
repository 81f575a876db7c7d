-- Lists that were locked by `lock_empty` sleep until somebody wakes them. They are looked at again: until they were locked,
-- somebody may have added. While somebody has a claim, an item may come back: then they need a search.
update rowlock_lists set wake_at = null
where id in ({ids}) and (select i.key from rowlock_items i where i.list = rowlock_lists.id order by i.key limit 1) is null
    and (select c.list from rowlock_claims c where c.list = rowlock_lists.id limit 1) is null
returning name
