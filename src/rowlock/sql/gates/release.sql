-- What it waited for has come: back in line, at its end.
update rowlock_items set due = null, position = nextval('rowlock_positions'), version = version + 1
where list = :list and key = :key and due >= :waiting
returning gate
