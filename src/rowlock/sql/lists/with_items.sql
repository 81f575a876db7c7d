-- Those of the lists that have items: most of very many have none, and need not be counted.
select l.id from rowlock_lists l
where l.id in ({ids}) and (select i.key from rowlock_items i where i.list = l.id order by i.key limit 1) is not null
