-- Milliseconds until the next tick of any schedule. Reads one end of an index.
select min(next_at) - {now} from rowlock_schedules where next_at is not null
