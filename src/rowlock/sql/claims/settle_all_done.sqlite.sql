-- SQLite: several statements, because it cannot write inside a with. Here nobody commits late into an interval, and no position
-- is used twice: if as many items stand in it as are settled, with the same sum of positions, they are the same, and the
-- interval may go as a whole. Else nothing is written, and they are settled one by one.
insert into rowlock_tallies (list, gate, at, token, receipt, done, items_change, seconds)
select c.list, c.gate, {now}, :token, :receipt, :count, -:count, ({now} - c.taken_at) / 1000.0
from rowlock_claims c
where c.token = :token and c.session = :session and not (select l.once from rowlock_lists l where l.id = c.list) and (:count, (select sum(value) from json_each(:positions))) = (
    select count(*), sum(i.position) from rowlock_items i
    where i.list = c.list and i.gate = c.gate and i.priority = c.priority and i.due is null and i.failed_at is null
        and i.position > c.low and i.position <= c.high
);
delete from rowlock_items
where list = (select c.list from rowlock_claims c where c.token = :token)
    and gate = (select c.gate from rowlock_claims c where c.token = :token)
    and priority = (select c.priority from rowlock_claims c where c.token = :token)
    and due is null and failed_at is null
    and position > (select c.low from rowlock_claims c where c.token = :token)
    and position <= (select c.high from rowlock_claims c where c.token = :token)
    and changes() = 1;
delete from rowlock_claims where token = :token and session = :session and changes() = :count
returning null
