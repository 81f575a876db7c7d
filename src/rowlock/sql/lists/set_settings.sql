-- A list whose settings have changed is examined by workers at once.
update rowlock_lists
set settings = :settings, exclusive = :exclusive, leased = leased and :exclusive, manual = :manual, limits = :limits, once = :once,
    version = version + 1, wake_at = {now}
where id = :list and version = :version
