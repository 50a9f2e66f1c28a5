// A thread for each side of io_socket.
#pragma once

#include "io_socket.hpp"
#include "raw_sockets.hpp"

#include <cstdint>
#include <thread>

namespace bare {

// The listener is made with these flags of a socket; `serve` gets it, and `ask` its port.
template <typename Serve, typename Ask>
harness::measured between_two_threads(const harness::request& r, int flags, Serve serve, Ask ask) {
    const harness::socket_work work{r};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        const harness::descriptor listener = harness::listen_on_loopback(flags);
        std::jthread server{[&] { serve(listener.get(), work); }};
        watch.start();
        std::uint64_t sum = 0;
        {
            std::jthread clients{[&] { sum = ask(harness::port_of(listener.get()), work); }};
        }
        server.join();
        watch.stop();
        return sum;
    });
}

}  // namespace bare
