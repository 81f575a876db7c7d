-- Whether this transaction sees what others have committed since it began.
select {sees_commits}
