-- A write that changes nothing: its commit fails while the disk is full or the database read-only.
update rowlock_migrations set name = name where number = 1
