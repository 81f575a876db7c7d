-- Delayed items whose time has come, before a claim has promoted them.
select count(*) from rowlock_items where list = :list and gate <= :gate and due <= {now}
