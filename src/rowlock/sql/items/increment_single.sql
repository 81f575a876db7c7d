-- One failed attempt of one item, as a transaction of its own: the change and its tally in one round trip.
with changed as (
    update rowlock_items set attempts = attempts + 1, version = version + 1
    where list = (select l.id from rowlock_lists l where l.name = :name) and key = :key and attempts < 2147483647
    returning list, gate
),
recorded as (
    insert into rowlock_tallies (list, gate, at, retried) select c.list, c.gate, {now}, 1 from changed c
)
select true as fits, count(*) as changed from changed
