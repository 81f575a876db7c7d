-- Whether this transaction sees what others have committed since it began.
select current_setting('transaction_isolation') <> 'repeatable read'
