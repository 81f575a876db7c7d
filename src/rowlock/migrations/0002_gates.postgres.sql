-- Gates that open by themselves, unless a list says otherwise.
alter table rowlock_lists add column manual boolean not null default false;
update rowlock_lists set manual = true where cast(cast(settings as json) ->> 'manual' as boolean);
