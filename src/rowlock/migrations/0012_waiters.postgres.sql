-- Waiters: items that wait for another list to be complete. The key says that an item waits for one list at a time.

create table rowlock_waiters (
    list bigint not null,
    key text collate "C" not null,
    awaited bigint not null,
    primary key (list, key)
);
create index rowlock_waiters_awaited on rowlock_waiters (awaited);

-- They stood in the settings of the list they wait for.
insert into rowlock_waiters (list, key, awaited)
select distinct on (cast(t.value ->> 'parent' as bigint), t.value ->> 'key')
    cast(t.value ->> 'parent' as bigint), t.value ->> 'key', l.id
from rowlock_lists l, lateral jsonb_array_elements(cast(l.settings as jsonb) -> 'then') as t (value)
where t.value ->> 'parent' is not null;
update rowlock_lists as l set settings = cast(jsonb_set(cast(l.settings as jsonb), '{then}', (
    select coalesce(jsonb_agg(t.value), cast('[]' as jsonb))
    from jsonb_array_elements(cast(l.settings as jsonb) -> 'then') as t (value)
    where t.value ->> 'parent' is null
)) as text)
where cast(l.settings as jsonb) -> 'then' is not null;
