-- Somebody may be told of this again.
delete from rowlock_notifications where topic = :topic and subscriber = :subscriber and subject = :subject
