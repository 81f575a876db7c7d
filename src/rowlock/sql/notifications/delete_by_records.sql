-- Notifications of records whose time is over, a bounded number.
delete from rowlock_notifications where id in (
    select n.id from rowlock_notifications n where n.topic = :topic and n.record in ({ids}) limit :limit
)
