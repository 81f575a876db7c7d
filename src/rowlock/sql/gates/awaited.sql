-- Whether something waits for this list's gate to be done with: items at a later one, or its completion.
select 1 from rowlock_lists l where l.id = :list and {parts/awaits}
