-- What stands in line for longer is simply older than this.
delete from rowlock_marks where at < {now} - cast(:keep as bigint)
