// I/O on the system's calls alone: epoll, and io_uring as another dress.
#pragma once

#include "harness.hpp"

namespace bare {

harness::measured echo(const harness::request& r);
harness::measured echo_on_ring(const harness::request& r);
harness::measured echo_many(const harness::request& r);
harness::measured echo_many_on_ring(const harness::request& r);
harness::measured accept_churn(const harness::request& r);
harness::measured accept_churn_on_ring(const harness::request& r);
harness::measured io_socket(const harness::request& r);
harness::measured io_socket_that_spins(const harness::request& r);
harness::measured io_socket_on_ring(const harness::request& r);
harness::measured file_read(const harness::request& r);
harness::measured file_read_on_ring(const harness::request& r);

}  // namespace bare
