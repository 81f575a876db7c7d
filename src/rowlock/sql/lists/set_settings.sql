-- A list whose rules have changed is looked at anew.
update rowlock_lists
set settings = :settings, exclusive = :exclusive, leased = leased and :exclusive, manual = :manual, limits = :limits,
    version = version + 1, wake_at = {now}
where id = :list and version = :version
