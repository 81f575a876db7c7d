-- Counters by name within a range, strictly after one.
select name, value from rowlock_counters
where name > :after and name >= :prefix and name < :beyond order by name limit :limit
