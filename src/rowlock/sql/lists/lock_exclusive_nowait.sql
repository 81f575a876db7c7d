-- Only if no add is under way, so that none can begin until commit. Never at repeatable read: such a transaction does not
-- see items that were added since it began.
select id, gate from rowlock_lists
where name = :name and {sees_commits} {skip}
