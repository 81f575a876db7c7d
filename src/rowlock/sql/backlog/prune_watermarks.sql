-- Items that have waited for longer are simply reported as older than this.
delete from rowlock_marks where at < {now} - cast(:keep as bigint)
