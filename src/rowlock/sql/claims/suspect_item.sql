-- The item killed its worker: wherever it stands now, it is claimed alone.
insert into rowlock_suspects (list, gate, priority, low, high, since, holder, deaths)
select i.list, i.gate, i.priority, i.position - 1, i.position, {now}, :holder, 2 from rowlock_items i
where i.list = :list and i.key = :key and i.failed_at is null
