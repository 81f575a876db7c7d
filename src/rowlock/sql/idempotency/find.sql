select fingerprint, answer from rowlock_requests where key = :key
