-- Deletes a notification, so that the subscriber is notified again.
delete from rowlock_notifications where topic = :topic and subscriber = :subscriber and subject = :subject
