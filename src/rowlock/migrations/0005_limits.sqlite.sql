-- Limits: how many items of a list may be in hand at once, of all or of each family, and how many are handed out in a while.

-- Null for the lists without any: claims look at nothing else.
alter table rowlock_lists add column limits text;
-- The family that was served last: those of a list take turns.
alter table rowlock_lists add column served text;

-- What the key of an item begins with, on lists that limit each family: an index that no other item is in.
alter table rowlock_items add column family text;
create index rowlock_items_family on rowlock_items (list, gate, priority, family, position)
    where family is not null and due is null and failed_at is null;
alter table rowlock_claims add column family text;
create index rowlock_claims_family on rowlock_claims (list, family) where family is not null;

-- What was handed out lately, by hundredths of the while that a rate speaks of.
create table rowlock_handouts (
    list integer not null,
    slot integer not null,
    items integer not null,
    primary key (list, slot)
) without rowid;
