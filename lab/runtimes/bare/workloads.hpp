// The floors that are in files of their own.
#pragma once

#include "harness.hpp"

namespace lab {

harness::measured fib_tasks(const harness::request& r);
harness::measured dispatcher(const harness::request& r);
harness::measured coroutine_costs(const harness::request& r);
harness::measured stream_scenarios(const harness::request& r);
harness::measured kafka_job(const harness::request& r);
harness::measured nexmark_source(const harness::request& r);

}  // namespace lab
