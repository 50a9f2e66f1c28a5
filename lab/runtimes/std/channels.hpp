// The workloads of channels and locks, on mutexes and condition variables.
#pragma once

#include "harness.hpp"

namespace lab {

harness::measured channel_spsc(const harness::request& r);
harness::measured channel_mpmc(const harness::request& r);
harness::measured channel_rendezvous(const harness::request& r);
harness::measured mpsc_batches(const harness::request& r);
harness::measured mutex_handoff(const harness::request& r);
harness::measured suspend_chain(const harness::request& r);
harness::measured outside_wake(const harness::request& r);

}  // namespace lab
