-- What is taken back is marked; records that were published before still find it.
update rowlock_subscriptions set gone = :moment, changed = :moment
where topic = :topic and gone is null and id in ({ids})
returning id, filed
