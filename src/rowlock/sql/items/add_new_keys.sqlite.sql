-- SQLite: never run, because it gains nothing there.
select 1 where :list is null and :gate is null and :priority is null and :delay is null and :separator is null
    and coalesce({payload_parameters}) is null and exists (select 1 from {keys})
