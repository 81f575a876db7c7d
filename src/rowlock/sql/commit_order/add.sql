-- The moment of a transaction that subscribes (1) or publishes (2). A trigger sets its place when it commits; the lock that
-- the trigger takes depends on what the transaction did. Tables in another schema have variables of their own.
insert into rowlock_moments (id, kinds)
values (coalesce(cast(:moment as bigint), nextval('rowlock_moment_ids')), cast(:kinds as integer))
on conflict (id) do update set kinds = rowlock_moments.kinds | excluded.kinds
returning id, set_config(
    'rowlock.kinds_' || tableoid,
    cast(
        coalesce(nullif(current_setting('rowlock.kinds_' || tableoid, true), ''), '0')::integer | cast(:kinds as integer)
        as text
    ),
    true
)
