-- Delayed items that are due, in the order of their due times.
select key, gate from rowlock_items where list = :list and due <= {now} order by due limit :limit {skip}
