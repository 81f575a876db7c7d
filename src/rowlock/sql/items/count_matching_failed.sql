-- How many of the next failed items match a filter.
with scanned as materialized (
    {parts/scanned_failed_items}
),
{parts/counted_items}
