-- The only writer is alone already.
select id, gate from rowlock_lists where name = :name
