-- Due items go to the end of their lane, in the order of their due times. They are locked already, and found by their
-- ctid, key by key: a join would let the planner read all delayed items of the list.
with waiting as materialized (
    select i.place, i.key, i.due, i.position
    from {keys} cross join lateral (
        select x.ctid as place, x.key, x.due, x.position from rowlock_items x where x.list = :list and x.key = given.key limit 1
    ) as i
    where i.due is not null
)
update rowlock_items as i
set due = null, version = i.version + 1, position = cast((
    select jsonb_object_agg(line.key, nextval('rowlock_positions'))
    from (select w.key from waiting w order by w.due, w.position) as line
) ->> i.key as bigint)
where i.ctid = any (array(select w.place from waiting w))
