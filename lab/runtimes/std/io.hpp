// The workloads of I/O with a thread for each task.
#pragma once

#include "harness.hpp"

namespace lab {

harness::measured echo(const harness::request& r);
harness::measured echo_many(const harness::request& r);
harness::measured accept_churn(const harness::request& r);
harness::measured io_socket(const harness::request& r);
harness::measured file_read(const harness::request& r);

}  // namespace lab
