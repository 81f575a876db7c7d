-- In the transaction of the migration itself: both land or neither.
insert into rowlock_migrations (number, name, checksum, applied_at) values (:number, :name, :checksum, {now})
