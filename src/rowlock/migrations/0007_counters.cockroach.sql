-- Counters: numbers that never come twice.

create table rowlock_counters (
    name text collate "C" primary key,
    -- No number above this was ever handed out, nor reserved for somebody who does.
    value bigint not null,
    -- The name of the last block that was reserved for Redis; numbers of any other are not ours.
    epoch text
);
