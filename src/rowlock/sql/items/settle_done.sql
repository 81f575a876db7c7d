-- By exact position, never by range: a row committed late inside the interval was never handed out.
delete from rowlock_items as i
where {parts/at_positions}
returning position, key, attempts
