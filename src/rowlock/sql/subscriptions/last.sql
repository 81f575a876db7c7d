select max(id) from rowlock_subscriptions where topic = :topic and gone is null
