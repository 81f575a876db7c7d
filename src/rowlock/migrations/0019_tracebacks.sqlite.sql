-- Where the last failed attempt at an item was raised. The index finds what the next failure replaces.
alter table rowlock_errors add column traceback text;
create index rowlock_errors_traceback on rowlock_errors (list, key) where traceback is not null;
