-- CockroachDB: no triggers at commit. The order is that of writes to one row, in which serializable transactions commit.
with turn as (
    update rowlock_clock set seq = seq + 1 where id = 1 returning seq
)
insert into rowlock_moments (id, kinds, seq)
select coalesce(cast(:moment as bigint), nextval('rowlock_moment_ids')), cast(:kinds as integer), turn.seq from turn
on conflict (id) do update set kinds = rowlock_moments.kinds | excluded.kinds, seq = excluded.seq
returning id
