-- The next items that match a filter.
with scanned as materialized (
    {parts/scanned_items}
),
{parts/found_items}
