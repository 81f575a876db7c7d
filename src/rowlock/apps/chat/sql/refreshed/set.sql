update chat_refreshed set at = :at where at < :at
