-- The next subscriptions to reindex, locked against removal.
select id, predicates, filed, version from rowlock_subscriptions
where topic = :topic and gone is null and id > :after and id <= :upto order by id limit :limit {skip}
