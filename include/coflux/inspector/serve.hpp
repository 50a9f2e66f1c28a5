// The running program over HTTP: its coroutines, metrics and a page that shows both. A library of its own, over
// cpp-httplib.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace coflux::inspect {

struct serve_options {
    std::string address = "127.0.0.1";  ///< of the loopback: 127.x.x.x, ::1, or localhost
    std::uint16_t port = 0;             ///< 0: one that the system chooses
    std::string socket = {};            ///< the path of a local socket, in place of address and port
    int dump_signal = 0;                ///< this signal also writes a dump to stderr (dump_on_signal); 0: none does
};

/// Answers while it lives; made by serve().
class server {
public:
    explicit server(const serve_options& options);
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server();

    /// 0 where it has a local socket.
    [[nodiscard]] std::uint16_t port() const noexcept;
    /// The address for a browser, "http://127.0.0.1:PORT/"; of a local socket its path.
    [[nodiscard]] const std::string& url() const noexcept;

private:
    struct state;

    std::unique_ptr<state> state_;
};

/// Begins to answer requests for what the program does: `auto inspector = coflux::inspect::serve({.port = 9000});`
///
/// | path | answer |
/// | --- | --- |
/// | `/` | a page that shows coroutines by place, the load of workers, queues, and the tree; it needs no other host |
/// | `/metrics` | write_openmetrics(), for Prometheus |
/// | `/dump` | dump(); with `?format=tree` each coroutine; with `?limit=BYTES` up to 64 MiB |
/// | `/deadlocks` | deadlocks(): which coroutines wait for each other |
/// | `/trace` | trace() of pools that keep one; `?ms=` the last so many, `?format=chrome` in place of Perfetto's |
/// | `/profile` | a profile of the next `?s=` seconds, 5 without it, folded; `?of=waits`: where coroutines wait |
/// | `/dump.json` | dump() as JSON, 1 MiB of it; with `?limit=BYTES` |
///
/// Only GET and HEAD are answered, and only requests to the loopback's own names, so that no page of another site reads
/// them. A client sees all: the names of coroutines, files and addresses. A local socket may be opened by its owner
/// alone.
///
/// Errors: std::invalid_argument for an address that is not of the loopback, std::system_error if it cannot be bound.
/// Threads: one accepts, and two answer; workers take no part in it, so that it also answers where all are stuck.
/// Costs: nothing while no client asks.
/// Lifetime: the destructor ends connections, and waits for the answer that is being made. It must not outlive main().
[[nodiscard]] inline server serve(const serve_options& options = {}) {
    return server(options);
}

}  // namespace coflux::inspect
