-- Leases: exclusive lists in the hands of a session, from claim to claim. The key says that no list is in two hands.

create table rowlock_leases (
    list bigint primary key,
    session text collate "C" not null references rowlock_sessions (id) on delete cascade,
    taken_at bigint not null,
    -- How long it may lie idle before others may have it.
    keep bigint not null,
    -- Who shall have it when what is in hand is settled.
    asked_by text collate "C" references rowlock_sessions (id) on delete set null
);
create index rowlock_leases_session on rowlock_leases (session);
create index rowlock_leases_asked on rowlock_leases (asked_by) where asked_by is not null;

-- Which lists a worker looks for: those who look for the same share them evenly.
alter table rowlock_sessions add column seeks text;

-- Whether somebody has the list, so that free ones are found without looking at the others. What counts is the lease: the
-- mark may say too much for a moment, until the call that was left with the end of a lease is answered.
alter table rowlock_lists add column leased boolean not null default false;
drop index rowlock_lists_awake;
create index rowlock_lists_awake on rowlock_lists (wake_at, id) where wake_at is not null and not exclusive and state = 'open';
create index rowlock_lists_leasable on rowlock_lists (wake_at, id)
    where wake_at is not null and exclusive and not leased and state = 'open';
