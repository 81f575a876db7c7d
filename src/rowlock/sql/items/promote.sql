-- Their time has come: to the back of their lane.
update rowlock_items set due = null, position = nextval('rowlock_positions'), version = version + 1
where list = :list and due is not null and key {among_keys}
