#pragma once

#include "reactors.hpp"

namespace lab {

// Each in the dress of `how`.
harness::measured fork_noop(const harness::request& r, waiting how);
harness::measured call_overhead(const harness::request& r, waiting how);
harness::measured yield(const harness::request& r, waiting how);
harness::measured spawn_join(const harness::request& r, waiting how);
harness::measured fib_tasks(const harness::request& r, waiting how);
harness::measured timer_storm(const harness::request& r, waiting how);
harness::measured idle_tasks(const harness::request& r, waiting how);
harness::measured outside_wake(const harness::request& r, waiting how);
harness::measured inject(const harness::request& r, waiting how);
harness::measured latency_under_load(const harness::request& r, waiting how);
harness::measured wait(const harness::request& r, waiting how);
harness::measured channel_spsc(const harness::request& r, waiting how);
harness::measured mpsc_batches(const harness::request& r, waiting how);
harness::measured mutex_handoff(const harness::request& r, waiting how);
harness::measured echo_many(const harness::request& r, waiting how);
harness::measured accept_churn(const harness::request& r, waiting how);
harness::measured cachecalc(const harness::request& r, waiting how);
harness::measured cachecalc_sharded(const harness::request& r, waiting how);
harness::measured cachecalc_variants(const harness::request& r, waiting how);

}  // namespace lab
