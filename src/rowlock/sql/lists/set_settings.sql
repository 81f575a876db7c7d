update rowlock_lists set settings = :settings, version = version + 1
where id = :list and version = :version
