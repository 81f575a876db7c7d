-- Until the transaction ends. Migrations name tables without a schema.
select set_config('search_path', quote_ident(:schema), true)
