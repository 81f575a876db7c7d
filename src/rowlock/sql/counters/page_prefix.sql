-- The same between two places in the order of names: those with one prefix.
select name, value from rowlock_counters
where name > :after and name >= :prefix and name < :beyond order by name limit :limit
