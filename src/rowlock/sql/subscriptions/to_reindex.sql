-- Subscriptions that may lie better elsewhere, locked against being taken back meanwhile.
select id, predicates, filed, version from rowlock_subscriptions
where topic = :topic and gone is null and id > :after and id <= :upto order by id limit :limit {skip}
