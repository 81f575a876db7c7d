-- Topics: standing queries, the records that are held against them, and who was told of what.

create table rowlock_topics (
    id bigint generated always as identity primary key,
    name text collate "C" not null unique,
    -- Kinds by name, in the order of their definition: a field's columns follow from its place.
    fields text not null default '{}',
    keep_for text not null default '30d',
    -- How frequent the most frequent terms are, as of the last look at a sample.
    statistics text not null default '{}',
    -- Subscriptions up to this one are filed by those statistics.
    refiled_upto bigint not null default 0,
    version bigint not null default 1
);

-- The combinations of fields that keys are made of: a record computes these keys and no others. Rows are only added; one
-- that two transactions need first at the same moment is there twice, for neither shall wait for the other.
create table rowlock_shapes (
    topic bigint not null,
    shape text collate "C" not null
);
create index rowlock_shapes_topic on rowlock_shapes (topic);

-- When subscriptions come and go and records are published. An id is drawn while its transaction runs; seq is drawn when
-- it commits, so that of a record and a subscription it tells which was first, however long either took.
create sequence rowlock_moment_ids;
create sequence rowlock_turns;
create table rowlock_moments (
    id bigint primary key default nextval('rowlock_moment_ids'),
    kinds integer not null,
    seq bigint
);
create index rowlock_moments_seq on rowlock_moments (seq);
-- Holds no rows. Its lock has two sides: publishers pass it together, subscribers pass it together, never both at once.
create table rowlock_turnstile (
    nothing integer
);
create function rowlock_take_turn() returns trigger language plpgsql as $$
declare
    turn bigint := nullif(current_setting('rowlock.turn', true), '')::bigint;
    kinds text := current_setting('rowlock.kinds', true);
begin
    -- At the very end of the transaction, and until its commit can be seen: milliseconds.
    if kinds = '1' then
        lock table rowlock_turnstile in share mode;
    elsif kinds = '2' then
        lock table rowlock_turnstile in row exclusive mode;
    else
        lock table rowlock_turnstile in share row exclusive mode;
    end if;
    if turn is null then
        turn := nextval('rowlock_turns');
        perform set_config('rowlock.turn', turn::text, true);
    end if;
    update rowlock_moments set seq = turn where id = new.id;
    return null;
end
$$;
-- A place in the order before which nobody who subscribes can come any more: at this moment none of them is committing.
create function rowlock_settled() returns bigint language plpgsql as $$
begin
    lock table rowlock_turnstile in row exclusive mode;
    return (select coalesce(max(m.seq), 0) from rowlock_moments m);
end
$$;
create constraint trigger rowlock_moments_take_turn after insert on rowlock_moments
    deferrable initially deferred for each row execute function rowlock_take_turn();

-- What is taken back stays, marked with the moment, until no record needs it that was published before.
create table rowlock_subscriptions (
    id bigint generated always as identity primary key,
    topic bigint not null,
    subscriber text collate "C" not null,
    digest text collate "C" not null,
    predicates text not null,
    -- Keys, orders and parts of its filings.
    filed text not null,
    version bigint not null default 0,
    born bigint not null,
    gone bigint,
    -- The later of the two: those who have a copy in memory follow it.
    changed bigint not null,
    created_at bigint not null
);
create unique index rowlock_subscriptions_live on rowlock_subscriptions (topic, subscriber, digest) where gone is null;
create index rowlock_subscriptions_topic on rowlock_subscriptions (topic, id);
create index rowlock_subscriptions_gone on rowlock_subscriptions (id) where gone is not null;
create index rowlock_subscriptions_changed on rowlock_subscriptions (topic, changed);

-- Subscriptions under their keys, with all that a record must fulfil in the row: a hash for each field that is compared
-- for equality, a low and a high end for each field with an order; null where any value will do.
create table rowlock_filings (
    key bigint not null,
    sort bigint not null,
    subscription bigint not null,
    part bigint not null,
    born bigint not null,
    gone bigint,
    -- Which columns hold anything, in groups; the lowest bit: there is more than they can say.
    checks integer not null,
    c0 bigint,
    c1 bigint,
    c2 bigint,
    c3 bigint,
    c4 bigint,
    c5 bigint,
    c6 bigint,
    c7 bigint,
    c8 bigint,
    c9 bigint,
    c10 bigint,
    c11 bigint,
    l0 bigint,
    h0 bigint,
    l1 bigint,
    h1 bigint,
    l2 bigint,
    h2 bigint,
    l3 bigint,
    h3 bigint,
    l4 bigint,
    h4 bigint,
    l5 bigint,
    h5 bigint,
    primary key (key, sort, subscription, part)
);
create index rowlock_filings_gone on rowlock_filings (key, sort, subscription, part) where gone is not null;

-- What was published; `subject` names the first record of the same key, whose subscribers are not told again.
create table rowlock_records (
    id bigint generated always as identity primary key,
    topic bigint not null,
    key text collate "C",
    subject bigint,
    data text not null,
    moment bigint not null,
    published_at bigint not null,
    -- How far it has been matched; null where it has not begun.
    cursor text,
    matched bigint not null default 0,
    matched_at bigint,
    finished_at bigint
);
create unique index rowlock_records_key on rowlock_records (topic, key) where subject is null;
create index rowlock_records_unmatched on rowlock_records (id) where matched_at is null;
create index rowlock_records_unfinished on rowlock_records (topic, id) where finished_at is null;
create index rowlock_records_old on rowlock_records (topic, finished_at) where finished_at is not null;

-- Who was or will be told of what, and which predicates were the reason; once for each subscriber and record.
create table rowlock_notifications (
    id bigint generated always as identity primary key,
    topic bigint not null,
    record bigint not null,
    subject bigint not null,
    subscriber text collate "C" not null,
    subscription bigint not null,
    predicates text not null,
    matched_at bigint not null,
    delivered_at bigint
);
create unique index rowlock_notifications_once on rowlock_notifications (subscriber, subject);
create index rowlock_notifications_topic on rowlock_notifications (topic, id);
