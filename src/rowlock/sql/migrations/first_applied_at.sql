-- When this database was made ours: no two that count their positions alike were made in the same millisecond.
select min(applied_at) from rowlock_migrations
