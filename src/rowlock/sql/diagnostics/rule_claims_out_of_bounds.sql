-- A claim has handed out at least one item, has between none and all of them left, and does not end before it begins.
select c.token, c.remaining, c.taken, c.low, c.high from rowlock_claims c
where c.taken < 1 or c.remaining < 0 or c.remaining > c.taken or c.high < c.low
order by c.token
