-- What is past the while counts no more.
delete from rowlock_handouts where list = :list and slot <= {now} - :period - :width
