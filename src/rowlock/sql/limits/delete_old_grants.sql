-- Claims before the period do not count any more.
delete from rowlock_handouts where list = :list and slot <= {now} - :period - :width
