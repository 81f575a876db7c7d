-- The moment of a transaction that subscribes (1) or publishes (2). A trigger sets its place when it commits; the lock that
-- the trigger takes depends on what the transaction did.
insert into rowlock_moments (id, kinds)
values (coalesce(cast(:moment as bigint), nextval('rowlock_moment_ids')), cast(:kinds as integer))
on conflict (id) do update set kinds = rowlock_moments.kinds | excluded.kinds
returning id, set_config(
    'rowlock.kinds',
    cast(coalesce(nullif(current_setting('rowlock.kinds', true), ''), '0')::integer | cast(:kinds as integer) as text),
    true
)
