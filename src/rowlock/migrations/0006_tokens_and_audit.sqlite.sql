-- Who may do what over HTTP, and who did what. A token itself is stored nowhere: only its SHA-256.

create table rowlock_tokens (
    id integer primary key autoincrement,
    digest text not null unique,
    -- What a list of tokens shows of it: its beginning and its last four characters.
    shown text not null,
    label text not null,
    role text not null check (role in ('viewer', 'worker', 'operator', 'admin')),
    -- Prefixes of the names that it is for, as a JSON array; empty for all.
    lists text not null,
    created_at integer not null,
    expires_at integer,
    last_used_at integer,
    revoked_at integer
);

create table rowlock_audit (
    id integer primary key autoincrement,
    at integer not null,
    who text not null,
    token integer,
    verb text not null,
    list text,
    count integer,
    details text,
    request text,
    keep_until integer not null
);
create index rowlock_audit_list on rowlock_audit (list, id);
create index rowlock_audit_old on rowlock_audit (keep_until);

-- The prefixes of the token that a session was opened with, as a JSON array: who may see and touch it. Null for all.
alter table rowlock_sessions add column scope text;
