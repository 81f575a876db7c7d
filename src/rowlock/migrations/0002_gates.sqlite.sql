-- Gates that open by themselves, unless a list says otherwise.
alter table rowlock_lists add column manual integer not null default 0;
update rowlock_lists set manual = 1 where json_extract(settings, '$.manual');
