-- Lists of items, who works them, and the record of what happened.
-- All times are milliseconds of this database's clock since 1970, all keys sort by their bytes.

create sequence rowlock_positions;

create table rowlock_lists (
    id bigint generated always as identity primary key,
    name text collate "C" not null unique,
    state text not null default 'open' check (state in ('open', 'paused', 'complete')),
    gate integer not null default 0,
    -- A bit for each priority that any of its items ever had: claims look at no other lane.
    lanes integer not null default 32,
    sealed boolean not null default false,
    settings text not null default '{}',
    exclusive boolean not null default false,
    version integer not null default 1,
    wake_at bigint
);
-- A worker looks only at lists that may have work: idle ones cost nothing, however many there are.
create index rowlock_lists_awake on rowlock_lists (wake_at) where wake_at is not null;

-- Calls that wake a sleeping list: rows, for adders of one list must never wait for each other's transactions.
create table rowlock_wakes (
    list bigint not null
);

create table rowlock_items (
    list bigint not null,
    key text collate "C" not null,
    position bigint not null default nextval('rowlock_positions'),
    gate integer not null,
    priority smallint not null,
    attempts integer not null default 0,
    due bigint,
    failed_at bigint,
    data text,
    version integer not null default 1,
    primary key (list, key)
);
-- The line of each lane; delayed and failed items never stand in a claim's way.
create index rowlock_items_ready on rowlock_items (list, gate, priority, position)
    where due is null and failed_at is null;
create index rowlock_items_due on rowlock_items (list, due) where due is not null;
create index rowlock_items_failed on rowlock_items (list, key) where failed_at is not null;

create table rowlock_sessions (
    id text collate "C" primary key,
    holder text not null,
    opened_at bigint not null,
    expires_at bigint not null,
    details text
);

create table rowlock_claims (
    token text collate "C" primary key,
    session text collate "C" not null references rowlock_sessions (id) on delete cascade,
    list bigint not null,
    gate integer not null,
    priority smallint not null,
    low bigint not null,
    high bigint not null,
    taken integer not null,
    remaining integer not null,
    attempts integer,
    alone boolean not null default false,
    taken_at bigint not null
);
-- Claims of a lane never overlap: two that ended at one place would be the same items twice. By their ends, because a
-- claim that began before a place may reach beyond it.
create unique index rowlock_claims_lane on rowlock_claims (list, gate, priority, high);
create index rowlock_claims_session on rowlock_claims (session);

-- Intervals whose worker died: their items are handed out one to a claim until each has been settled, and those that
-- were in hand at a second death with nothing beside them: so few that it takes no time to find the one.
create table rowlock_suspects (
    list bigint not null,
    gate integer not null,
    priority smallint not null,
    low bigint not null,
    high bigint not null,
    since bigint not null,
    holder text not null,
    deaths integer not null default 1
);
create index rowlock_suspects_lane on rowlock_suspects (list, gate, priority, high);

-- What happened, one row per batch; the *_change columns add up to what is there now.
create table rowlock_tallies (
    id bigint generated always as identity primary key,
    list bigint not null,
    gate integer not null,
    at bigint not null,
    token text collate "C",
    receipt text collate "C",
    gone text,
    added integer not null default 0,
    done integer not null default 0,
    retried integer not null default 0,
    moved integer not null default 0,
    failed integer not null default 0,
    abandoned integer not null default 0,
    items_change integer not null default 0,
    delayed_change integer not null default 0,
    failed_change integer not null default 0,
    seconds double precision not null default 0,
    folded boolean not null default false
);
create index rowlock_tallies_list on rowlock_tallies (list, at);
create index rowlock_tallies_unfolded on rowlock_tallies (at) where not folded;
create index rowlock_tallies_token on rowlock_tallies (token) where token is not null;

create table rowlock_errors (
    id bigint generated always as identity primary key,
    list bigint not null,
    key text collate "C" not null,
    attempt integer not null,
    at bigint not null,
    holder text not null,
    kind text not null,
    message text not null,
    shape text not null,
    keep_until bigint not null
);
create index rowlock_errors_item on rowlock_errors (list, key, id);
create index rowlock_errors_old on rowlock_errors (keep_until);

create table rowlock_results (
    id bigint generated always as identity primary key,
    list bigint not null,
    key text collate "C" not null,
    data text,
    attempts integer not null,
    settled_at bigint not null,
    keep_until bigint not null
);
create index rowlock_results_item on rowlock_results (list, key, id);
create index rowlock_results_old on rowlock_results (keep_until);
