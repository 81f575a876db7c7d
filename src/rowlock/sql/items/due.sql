-- Delayed items whose time has come, in the order of their time.
select key, gate from rowlock_items where list = :list and due <= {now} order by due limit :limit {skip}
