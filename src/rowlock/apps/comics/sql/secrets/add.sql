-- The first secret of a name stays: of two servers that start at once both read the same one.
insert into comics_secrets (name, secret) values (:name, :secret) on conflict (name) do nothing
