-- The next failed items that match a filter.
with scanned as materialized (
    {parts/scanned_failed_items}
),
{parts/found_items}
