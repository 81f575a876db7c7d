"""A client is the same as an engine: some tests of each kind of verb and of workers, by asking a server.

All of them run through a client under `make torture`.
"""

# ruff: noqa: F401
from tests.verbs.test_counters import (
    test_a_counter_is_raised_and_never_lowered,
    test_counters_are_listed_page_by_page,
    test_several_numbers_come_in_a_row,
)
from tests.verbs.test_data import (
    test_data_of_many_items_come_out_as_they_went_in,
    test_data_that_contain_themselves_are_refused,
    test_wrong_data_of_one_among_many_name_key_and_line,
)
from tests.verbs.test_gates import (
    test_by_hand_no_item_is_passed,
)
from tests.verbs.test_items import (
    test_a_misspelt_list_is_told_the_right_one,
    test_a_retry_makes_delayed_items_ready_at_the_end_of_the_line,
    test_a_strict_add_refuses_what_is_there_and_adds_nothing,
    test_all_items_are_read_page_by_page,
    test_an_abandoned_item_is_gone_and_told_from_a_done_one,
    test_an_add_says_how_many_are_new,
    test_an_increment_keeps_what_was_said,
    test_an_item_that_is_not_there_cannot_be_shown,
    test_many_done_items_are_gone_and_the_rest_keeps_its_attempts,
    test_what_was_said_of_a_failure_is_cut_to_a_bearable_length,
)
from tests.verbs.test_keys import (
    test_every_key_can_be_shown,
    test_keys_are_kept_unchanged_and_come_in_byte_order,
    test_the_line_of_a_wrong_key_counts_blank_lines_too,
)
from tests.verbs.test_lists import (
    test_a_drop_leaves_other_lists_alone,
    test_a_rename_to_a_name_that_is_taken_is_refused,
    test_a_renamed_list_takes_everything_with_it,
    test_a_setting_is_kept_and_the_others_stay,
    test_lists_are_paged_by_name,
    test_settings_changed_since_they_were_read_are_refused,
)
from tests.verbs.test_ranges import (
    test_ranges_touch_and_hold_every_key_once,
    thousand,
)
from tests.verbs.test_schedules import (
    test_a_late_change_does_not_create_a_removed_schedule_again,
    test_a_triggered_schedule_adds_an_item_now_and_ticks_as_before,
    test_upcoming_ticks_are_in_the_time_zone_of_the_schedule,
)
from tests.verbs.test_times import (
    test_an_item_due_at_a_moment_waits_for_it,
    test_pages_by_state_follow_time,
)
from tests.worker.test_attempts import (
    test_a_failing_item_is_tried_again_until_its_attempts_are_used_up,
)
from tests.worker.test_batches import (
    filled,
    test_a_mapping_is_by_key_and_who_is_left_out_is_done,
    test_an_item_abandoned_meanwhile_is_gone_and_the_others_are_done,
)
from tests.worker.test_handlers import (
    test_a_coroutine_is_run_for_each_item,
    test_a_handler_that_overstays_frees_its_slot,
    test_a_plain_function_is_called_for_each_item,
    test_hooks_hear_of_each_settled_item,
    test_items_added_while_it_runs_are_worked,
    test_what_a_handler_returns_is_what_becomes_of_the_item,
)
from tests.worker.test_leases import (
    test_a_gentle_stop_gives_the_list_to_the_next_worker_at_once,
    test_hooks_tell_when_a_list_is_ours_and_when_no_more,
)
from tests.worker.test_limits import test_no_more_run_at_once_than_the_list_allows
from tests.worker.test_stopping import (
    test_a_gentle_stop_finishes_what_runs_and_hands_back_the_rest,
    test_a_worker_waits_for_delayed_items_until_all_is_done,
)
