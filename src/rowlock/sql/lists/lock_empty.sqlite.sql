-- SQLite: a writing transaction is alone on the file already, and the verb says that it need not be flushed.
select l.id from rowlock_lists l
where l.name {among_keys} and l.state = 'open' and not l.sealed and not l.exclusive and l.limits is null
    and (select i.key from rowlock_items i where i.list = l.id order by i.key limit 1) is null
