-- The second of two concurrent requests fails here and is retried: then it finds the answer to the first.
insert into rowlock_requests (key, fingerprint, answer, at) values (:key, :fingerprint, :answer, {now})
