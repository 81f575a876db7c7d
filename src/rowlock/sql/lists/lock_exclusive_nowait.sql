-- Nobody is adding to the list at this moment, and nobody can begin to: else it is not got. At repeatable read it never is:
-- there one sees the items of the moment at which one began, and not those that were added until now.
select id, gate from rowlock_lists
where name = :name and current_setting('transaction_isolation') <> 'repeatable read' for update skip locked
