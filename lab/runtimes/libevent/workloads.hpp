#pragma once

#include "harness.hpp"

namespace lab {

// With bufferevents, as libevent's users write it; the others with events and calls of the system.
harness::measured echo(const harness::request& r);
harness::measured echo_expert(const harness::request& r);
harness::measured echo_many(const harness::request& r);
harness::measured echo_many_expert(const harness::request& r);
harness::measured accept_churn(const harness::request& r);
harness::measured accept_churn_expert(const harness::request& r);
harness::measured io_socket(const harness::request& r);

}  // namespace lab
