-- Who may do what over HTTP, and who did what. A token itself is stored nowhere: only its SHA-256.

create table rowlock_tokens (
    id bigint generated always as identity primary key,
    digest text collate "C" not null unique,
    -- What a list of tokens shows of it: its beginning and its last four characters.
    shown text not null,
    label text not null,
    role text not null check (role in ('viewer', 'worker', 'operator', 'admin')),
    -- Prefixes of the names that it is for, as a JSON array; empty for all.
    lists text not null,
    created_at bigint not null,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint
);

create table rowlock_audit (
    id bigint generated always as identity primary key,
    at bigint not null,
    who text not null,
    token bigint,
    verb text not null,
    list text collate "C",
    count bigint,
    details text,
    request text,
    keep_until bigint not null
);
create index rowlock_audit_list on rowlock_audit (list, id);
create index rowlock_audit_old on rowlock_audit (keep_until);

-- The prefixes of the token that a session was opened with, as a JSON array: who may see and touch it. Null for all.
alter table rowlock_sessions add column scope text;
