-- All items of a claim are done and nothing is kept or remembered: the guard, the deletion by exact position, the tally and the end of the
-- claim in one statement. A row says that it was written, and which positions had gone before. The session is only checked:
-- its index would lead past all claims that it ever had, as far as they are not vacuumed.
with held as (
    delete from rowlock_claims c where c.token = :token and (c.session = :session) is true
        and (select l.once from rowlock_lists l where l.id = c.list) is not true
    returning c.list, c.gate, c.priority, c.low, c.high, c.taken_at
),
landed as (
    -- No join with the claim: the planner would be free to read the whole lane first. For the rest see `at_positions`.
    delete from rowlock_items i
    where (i.list, i.gate, i.priority) = (select h.list, h.gate, h.priority from held h)
        and i.due is null and i.failed_at is null
        and i.position > (select h.low from held h) and i.position <= (select h.high from held h)
        and (i.position in (select p.position from {positions})) is true
    returning i.position
),
counted as (select count(*) as number from landed)
insert into rowlock_tallies (list, gate, at, token, receipt, gone, done, items_change, seconds)
select h.list, h.gate, {now}, :token, :receipt,
    -- Without a subselect over what was asked: it would have to be made ready each time, and is hardly ever needed.
    case when counted.number < :count then translate(cast(to_jsonb(string_to_array(translate(:positions, '[]', ''), ','))
        - coalesce((select array_agg(cast(landed.position as text)) from landed), '{}') as text), '"', '') end,
    counted.number, -counted.number, ({now} - h.taken_at) / 1000.0
from held h cross join counted
returning gone
