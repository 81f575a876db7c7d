-- What changed, by a tally t, and how long its claim was held: a number that is null is zero.
coalesce(t.items_change, 0) as items_change, coalesce(t.delayed_change, 0) as delayed_change,
coalesce(t.failed_change, 0) as failed_change, coalesce(t.seconds, 0) as seconds
