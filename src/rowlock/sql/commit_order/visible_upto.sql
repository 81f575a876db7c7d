-- Waits for transactions that are committing a subscription, so that every change before the returned place is visible.
select rowlock_settled()
