// The workloads of the Coflux adapter.
#pragma once

#include "harness.hpp"

namespace lab {

harness::measured fork_noop(const harness::request& r);
harness::measured call_overhead(const harness::request& r);
harness::measured call_overhead_expert(const harness::request& r);
harness::measured yield(const harness::request& r);
harness::measured fork_pool(const harness::request& r);
harness::measured fork_pool_expert(const harness::request& r);
harness::measured pipeline(const harness::request& r);
harness::measured pipeline_expert(const harness::request& r);
harness::measured spawn_join(const harness::request& r);
harness::measured spawn_join_expert(const harness::request& r);
harness::measured fairness(const harness::request& r);
harness::measured fib(const harness::request& r);
harness::measured skynet(const harness::request& r);
harness::measured skynet_expert(const harness::request& r);
harness::measured nqueens(const harness::request& r);
harness::measured nqueens_expert(const harness::request& r);
harness::measured matmul(const harness::request& r);
harness::measured channel_spsc(const harness::request& r);
harness::measured channel_spsc_expert(const harness::request& r);
harness::measured channel_mpmc(const harness::request& r);
harness::measured channel_mpmc_expert(const harness::request& r);
harness::measured channel_rendezvous(const harness::request& r);
harness::measured mpsc_batches(const harness::request& r);
harness::measured mpsc_batches_expert(const harness::request& r);
harness::measured mutex_handoff(const harness::request& r);
harness::measured timer_storm(const harness::request& r);
harness::measured timer_storm_expert(const harness::request& r);
harness::measured cachecalc(const harness::request& r);
harness::measured cachecalc_sharded(const harness::request& r);
harness::measured suspend_chain(const harness::request& r);
harness::measured outside_wake(const harness::request& r);
harness::measured inject(const harness::request& r);
harness::measured latency_under_load(const harness::request& r);
harness::measured idle_tasks(const harness::request& r);
harness::measured memory_after(const harness::request& r);
harness::measured memory_after_expert(const harness::request& r);
harness::measured oversubscribed(const harness::request& r);
// The part of it that forks.
harness::measured forks_of_a_crowd(const harness::request& r);
harness::measured unbalanced(const harness::request& r);
harness::measured unbalanced_expert(const harness::request& r);
harness::measured partition_receiver(const harness::request& r);
harness::measured record_path(const harness::request& r);
harness::measured record_path_as_jobs(const harness::request& r);
harness::measured stream_scenarios(const harness::request& r);
harness::measured nexmark_query(const harness::request& r);
harness::measured nexmark_source(const harness::request& r);
harness::measured kafka_job(const harness::request& r);
harness::measured fib_tasks(const harness::request& r);
harness::measured coroutine_costs(const harness::request& r);
harness::measured dispatcher(const harness::request& r);
harness::measured wait(const harness::request& r);

}  // namespace lab
