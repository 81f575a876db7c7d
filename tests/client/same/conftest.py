"""All that the tests of verbs and workers say, once more through a client: thousands, so only under torture.

What shows that a client is the same is chosen in tests/client/test_same.py.
"""

import pytest

# Tests that cannot hold over HTTP, and why.
ONLY_WHERE_THE_DATABASE_IS = {
    "test_a_batch_that_overstays_is_told_and_what_it_wrote_does_not_stay": "has the settling transaction",
    "test_a_block_is_reserved_once_for_each_epoch_and_never_of_an_invalid_size": "reserves blocks by hand",
    "test_a_clock_that_was_set_back_a_little_repeats_no_tick": "ticks by hand",
    "test_a_dropped_list_is_forgotten_with_all_that_was_its": "looks into the tables",
    "test_a_list_that_keeps_results_keeps_a_row_of_each_done_item": "looks into the tables",
    "test_a_move_to_a_passed_gate_fails_the_item_and_spares_the_others": "writes into the tables",
    "test_a_number_and_its_row_commit_together": "has a transaction of its own",
    "test_a_number_of_a_transaction_that_fails_is_given_again": "has a transaction of its own",
    "test_a_paused_schedule_does_not_tick_and_misses_nothing": "ticks by hand",
    "test_a_removed_schedule_is_gone_and_its_items_stay": "ticks by hand",
    "test_a_retry_makes_failed_items_ready_with_a_clean_count": "writes into the tables",
    "test_a_sealed_list_takes_no_items": "writes into the tables",
    "test_a_snapshot_has_all_keys_in_byte_order": "a snapshot is one read of the database",
    "test_a_snapshot_stays_while_the_list_changes": "a snapshot is one read of the database",
    "test_a_transaction_of_the_callers_own_is_joined": "has a transaction of its own",
    "test_an_empty_list_has_no_ranges_and_no_keys": "a snapshot is one read of the database",
    "test_an_interval_is_aligned_to_its_start": "ticks by hand",
    "test_an_item_at_a_gate_that_was_passed_is_refused": "writes into the tables",
    "test_an_item_without_a_gate_stands_at_that_of_its_list": "writes into the tables",
    "test_an_unknown_list_has_no_ranges_and_no_snapshot": "a snapshot is one read of the database",
    "test_a_new_key_does_not_change_the_next_tick": "ticks by hand",
    "test_a_new_recurrence_begins_now": "ticks by hand",
    "test_attempts_never_pass_what_can_be_stored": "writes into the tables",
    "test_nothing_ticks_before_its_start": "ticks by hand",
    "test_numbers_follow_the_order_in_which_callers_came": "groups by hand",
    "test_of_those_who_come_together_as_many_as_can_have_the_last_numbers": "groups by hand",
    "test_one_bad_call_among_many_good_ones_is_alone_with_it": "groups by hand",
    "test_ranges_are_those_of_a_snapshot": "a snapshot is one read of the database",
    "test_results_are_kept_where_the_list_keeps_them": "looks into the tables",
    "test_several_counters_advance_by_one_statement_or_none_of_them": "takes of several by hand",
    "test_what_a_batch_wrote_does_not_stay_when_the_session_was_lost": "has the settling transaction",
    "test_what_a_handler_writes_before_it_raises_does_not_stay": "has the settling transaction",
    "test_what_a_handler_writes_commits_with_retries_too": "has the settling transaction",
    "test_what_a_handler_writes_commits_with_the_settlement": "has the settling transaction",
    "test_what_a_handler_writes_does_not_stay_if_one_of_its_items_has_gone": "has the settling transaction",
    "test_what_a_handler_writes_does_not_stay_when_its_answer_cannot_be_written": "has the settling transaction",
    "test_when_the_session_is_lost_nothing_is_settled_and_work_goes_on_under_a_new_one": "a session lives for a second",
    "test_changes_of_a_schedule_are_audited": "the server records who shows a token",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    same = [item for item in items if item.path.parent.name == "same"]
    for item in same:
        item.add_marker(pytest.mark.torture)
    gone = [item for item in same if getattr(item, "originalname", "") in ONLY_WHERE_THE_DATABASE_IS]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item not in gone]
