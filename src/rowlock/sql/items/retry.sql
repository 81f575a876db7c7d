-- Back to the end of the line, in the order of their keys, with no attempts; the errors are kept. No join: it would let the
-- planner read all delayed and failed items of the list. The last condition is written so that only the index of keys fits.
update rowlock_items as i
set failed_at = null, due = null, attempts = 0, version = i.version + 1, position = cast((
    select jsonb_object_agg(line.key, nextval('rowlock_positions'))
    from (select given.key from {keys} order by given.key collate "C") as line
) ->> i.key as bigint)
where i.list = :list and i.key {among_keys} and coalesce(i.failed_at, i.due) is not null
