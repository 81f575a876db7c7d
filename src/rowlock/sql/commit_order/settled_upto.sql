-- Waits until nobody who subscribes is just committing: all who have a lower number than this can be seen.
select rowlock_settled()
