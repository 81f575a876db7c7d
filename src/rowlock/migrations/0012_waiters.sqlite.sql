-- Waiters: items that wait for another list to be complete. The key says that an item waits for one list at a time.

create table rowlock_waiters (
    list integer not null,
    key text not null,
    awaited integer not null,
    primary key (list, key)
) without rowid;
create index rowlock_waiters_awaited on rowlock_waiters (awaited);

-- They stood in the settings of the list they wait for.
insert or ignore into rowlock_waiters (list, key, awaited)
select json_extract(t.value, '$.parent'), json_extract(t.value, '$.key'), l.id
from rowlock_lists l, json_each(l.settings, '$.then') as t
where json_extract(t.value, '$.parent') is not null;
update rowlock_lists set settings = json_set(settings, '$.then', (
    select json_group_array(json(t.value))
    from json_each(rowlock_lists.settings, '$.then') as t
    where json_extract(t.value, '$.parent') is null
))
where json_type(settings, '$.then') is not null;
