-- A settlement that was recorded twice: asked for again, it must be answered from its receipt. Settlements of no items are alike.
select l.name, t.token, count(*) from rowlock_tallies t join rowlock_lists l on l.id = t.list
where t.token is not null and t.receipt is not null and coalesce(t.done, 0) + coalesce(t.retried, 0) + coalesce(t.moved, 0) + coalesce(t.failed, 0) > 0
group by l.name, t.token, t.receipt having count(*) > 1
order by l.name, t.token limit 100
