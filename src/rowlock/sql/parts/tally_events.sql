-- What happened, by a tally t: a number that is null is zero.
coalesce(t.added, 0) as added, coalesce(t.done, 0) as done, coalesce(t.retried, 0) as retried, coalesce(t.moved, 0) as moved,
coalesce(t.failed, 0) as failed, coalesce(t.abandoned, 0) as abandoned
