-- Nobody is adding to the list at this moment, and nobody can begin to: else it is not got.
select id, gate from rowlock_lists where name = :name for update skip locked
