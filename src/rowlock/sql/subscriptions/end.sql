-- Marks subscriptions as removed; records that were published before still find them.
update rowlock_subscriptions set gone = :moment, changed = :moment
where topic = :topic and gone is null and id in ({ids})
returning id, filed
