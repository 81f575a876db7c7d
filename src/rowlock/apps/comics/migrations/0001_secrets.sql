create table if not exists comics_secrets (
    name text not null primary key,
    secret text not null
);
