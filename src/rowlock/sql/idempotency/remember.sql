-- The second of two who ask at once fails here and is run again: then it finds what the first was answered.
insert into rowlock_requests (key, fingerprint, answer, at) values (:key, :fingerprint, :answer, {now})
