// The workloads of I/O of the Coflux adapter: each on the system's default, and on epoll.
#pragma once

#include "harness.hpp"

namespace lab {

harness::measured echo(const harness::request& r);
harness::measured echo_many(const harness::request& r);
harness::measured echo_pool(const harness::request& r);
harness::measured accept_churn(const harness::request& r);
harness::measured io_socket(const harness::request& r);
harness::measured file_read(const harness::request& r);

// The same workload with epoll in place of io_uring, which is what Coflux takes where the system lets it.
harness::workload_function on_epoll(harness::measured (*run)(const harness::request&));

}  // namespace lab
