select count(*) from rowlock_subscriptions where topic = :topic and gone is null
