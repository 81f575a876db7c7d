-- An item before its list's open gate would never be handed out.
select l.name, i.key, i.gate, l.gate from rowlock_items i join rowlock_lists l on l.id = i.list
where i.gate < l.gate order by l.name, i.key
