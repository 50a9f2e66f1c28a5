// The workloads of I/O of the Asio adapter, on epoll.
#pragma once

#include "harness.hpp"

namespace lab {

harness::measured echo(const harness::request& r);
harness::measured echo_many(const harness::request& r);
harness::measured echo_pool(const harness::request& r);
harness::measured accept_churn(const harness::request& r);
harness::measured io_socket(const harness::request& r);

}  // namespace lab
