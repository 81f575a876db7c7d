-- An item without a family, on a list that limits families, would never be handed out.
select l.name, i.key from rowlock_items i join rowlock_lists l on l.id = i.list
where l.limits like '%"by":%' and i.family is null order by l.name, i.key limit 100
