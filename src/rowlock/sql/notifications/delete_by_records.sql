-- Notifications of records that their topic does not keep any longer, a bounded number.
delete from rowlock_notifications where id in (
    select n.id from rowlock_notifications n where n.topic = :topic and n.record in ({ids}) limit :limit
)
