// The workloads that the standard library can only do with one thread of the operating system for each task.
#pragma once

#include "harness.hpp"

namespace lab {

harness::measured spawn_join(const harness::request& r);
harness::measured yield(const harness::request& r);
harness::measured fib(const harness::request& r);
harness::measured skynet(const harness::request& r);
harness::measured nqueens(const harness::request& r);
harness::measured matmul(const harness::request& r);
harness::measured timer_storm(const harness::request& r);
harness::measured cachecalc(const harness::request& r);
harness::measured cachecalc_sharded(const harness::request& r);
harness::measured idle_tasks(const harness::request& r);
harness::measured memory_after(const harness::request& r);
harness::measured unbalanced(const harness::request& r);
harness::measured cachecalc_variants(const harness::request& r);
harness::measured partition_receiver(const harness::request& r);
harness::measured record_path(const harness::request& r);
harness::measured fib_tasks(const harness::request& r);
harness::measured coroutine_costs(const harness::request& r);
harness::measured wait(const harness::request& r);

}  // namespace lab
