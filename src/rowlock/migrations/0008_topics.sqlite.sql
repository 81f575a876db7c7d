-- Topics: standing queries, the records that are held against them, and who was told of what.

create table rowlock_topics (
    id integer primary key autoincrement,
    name text not null unique,
    -- Kinds by name, in the order of their definition: a field's columns follow from its place.
    fields text not null default '{}',
    keep_for text not null default '30d',
    -- How frequent the most frequent terms are, as of the last look at a sample.
    statistics text not null default '{}',
    -- Subscriptions up to this one are filed by those statistics.
    refiled_upto integer not null default 0,
    version integer not null default 1
);

-- The combinations of fields that keys are made of: a record computes these keys and no others. Rows are only added; one
-- that two transactions need first at the same moment is there twice, for neither shall wait for the other.
create table rowlock_shapes (
    topic integer not null,
    shape text not null
);
create index rowlock_shapes_topic on rowlock_shapes (topic);

-- When subscriptions come and go and records are published: numbers in the order of commits, for there is one writer.
create table rowlock_moments (
    id integer primary key autoincrement,
    kinds integer not null,
    seq integer
);

-- What is taken back stays, marked with the moment, until no record needs it that was published before.
create table rowlock_subscriptions (
    id integer primary key autoincrement,
    topic integer not null,
    subscriber text not null,
    digest text not null,
    predicates text not null,
    -- Keys, orders and parts of its filings.
    filed text not null,
    version integer not null default 0,
    born integer not null,
    gone integer,
    -- The later of the two: those who have a copy in memory follow it.
    changed integer not null,
    created_at integer not null
);
create unique index rowlock_subscriptions_live on rowlock_subscriptions (topic, subscriber, digest) where gone is null;
create index rowlock_subscriptions_topic on rowlock_subscriptions (topic, id);
create index rowlock_subscriptions_gone on rowlock_subscriptions (id) where gone is not null;
create index rowlock_subscriptions_changed on rowlock_subscriptions (topic, changed);

-- Subscriptions under their keys, with all that a record must fulfil in the row: a hash for each field that is compared
-- for equality, a low and a high end for each field with an order; null where any value will do.
create table rowlock_filings (
    key integer not null,
    sort integer not null,
    subscription integer not null,
    part integer not null,
    born integer not null,
    gone integer,
    -- Which columns hold anything, in groups; the lowest bit: there is more than they can say.
    checks integer not null,
    c0 integer,
    c1 integer,
    c2 integer,
    c3 integer,
    c4 integer,
    c5 integer,
    c6 integer,
    c7 integer,
    c8 integer,
    c9 integer,
    c10 integer,
    c11 integer,
    l0 integer,
    h0 integer,
    l1 integer,
    h1 integer,
    l2 integer,
    h2 integer,
    l3 integer,
    h3 integer,
    l4 integer,
    h4 integer,
    l5 integer,
    h5 integer,
    primary key (key, sort, subscription, part)
) without rowid;
create index rowlock_filings_gone on rowlock_filings (key, sort, subscription, part) where gone is not null;

-- What was published; `subject` names the first record of the same key, whose subscribers are not told again.
create table rowlock_records (
    id integer primary key autoincrement,
    topic integer not null,
    key text,
    subject integer,
    data text not null,
    moment integer not null,
    published_at integer not null,
    -- How far it has been matched; null where it has not begun.
    cursor text,
    matched integer not null default 0,
    matched_at integer,
    finished_at integer
);
create unique index rowlock_records_key on rowlock_records (topic, key) where subject is null;
create index rowlock_records_unmatched on rowlock_records (id) where matched_at is null;
create index rowlock_records_unfinished on rowlock_records (topic, id) where finished_at is null;
create index rowlock_records_old on rowlock_records (topic, finished_at) where finished_at is not null;

-- Who was or will be told of what, and which predicates were the reason; once for each subscriber and record.
create table rowlock_notifications (
    id integer primary key autoincrement,
    topic integer not null,
    record integer not null,
    subject integer not null,
    subscriber text not null,
    subscription integer not null,
    predicates text not null,
    matched_at integer not null,
    delivered_at integer
);
create unique index rowlock_notifications_once on rowlock_notifications (subscriber, subject);
create index rowlock_notifications_topic on rowlock_notifications (topic, id);
