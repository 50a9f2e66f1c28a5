// A server on a thread of its own, and lab_load as its client.
#pragma once

#include "load_client.hpp"
#include "raw_sockets.hpp"

#include <sys/eventfd.h>
#include <thread>

namespace bare {

// `serve(listener, stop)` runs until the event `stop` can be read. SOCK_NONBLOCK or none for the listener.
template <typename Serve>
harness::measured under_load(const harness::request& r, Serve serve, int flags = 0) {
    const harness::descriptor listener = harness::listen_on_loopback(flags);
    const harness::descriptor stop{harness::checked(eventfd(0, EFD_CLOEXEC), "eventfd")};
    std::jthread server{[&] { serve(listener.get(), stop.get()); }};
    // Before the server's thread is joined, also where the load fails.
    struct at_end {
        int event;
        ~at_end() { eventfd_write(event, 1); }
    } const stops{stop.get()};
    harness::load_client load{r, harness::port_of(listener.get())};
    return harness::measure(r, [&load](harness::stopwatch& watch) { return load.pass(watch); });
}

}  // namespace bare
