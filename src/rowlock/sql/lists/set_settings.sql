update rowlock_lists set settings = :settings, exclusive = :exclusive, version = version + 1
where id = :list and version = :version
