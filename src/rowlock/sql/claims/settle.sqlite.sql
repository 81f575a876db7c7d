-- The same, one after the other: there is one writer, and the claim's row guards each.
insert into rowlock_tallies (list, gate, at, token, receipt, gone, done, items_change, seconds)
select c.list, c.gate, {now}, :token, :receipt,
    case when counted.number < :count then (
        select json_group_array(asked.value) from json_each(:positions) as asked
        where not exists (
            select 1 from rowlock_items i
            where i.position = asked.value and i.list = c.list and i.gate = c.gate and i.priority = c.priority
                and i.due is null and i.failed_at is null
        )
    ) end,
    counted.number, -counted.number, ({now} - c.taken_at) / 1000.0
from rowlock_claims c, (
    select count(*) as number from rowlock_claims k join rowlock_items i
        on i.list = k.list and i.gate = k.gate and i.priority = k.priority
    where k.token = :token and i.due is null and i.failed_at is null and i.position {among_positions}
) as counted
where c.token = :token and c.session = :session;
delete from rowlock_items
where position {among_positions} and due is null and failed_at is null and exists (
    select 1 from rowlock_claims c
    where c.token = :token and c.session = :session and c.list = rowlock_items.list
        and c.gate = rowlock_items.gate and c.priority = rowlock_items.priority
);
delete from rowlock_claims where token = :token and session = :session
returning (select gone from rowlock_tallies t where t.token = :token and t.receipt = :receipt)
