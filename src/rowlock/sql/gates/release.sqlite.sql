-- The same, with a place in line that continues the table's own sequence.
update rowlock_items
set due = null, position = (select seq + 1 from sqlite_sequence where name = 'rowlock_items'), version = version + 1
where list = :list and key = :key and due >= :waiting
returning gate
