#include "io_counts.hpp"

#include <array>
#include <cstddef>
#include <new>
#include <vector>

#include <coflux/inspect/metrics.hpp>

#include "inspect/metric_source.hpp"

namespace coflux::detail {
namespace {

using inspect::metric_family;
using inspect::metric_type;
using what = io_counts::what;

constexpr metric_family io_bytes{"coflux_io_bytes", metric_type::counter, "bytes",
                                 "Bytes that were read from, or written to, streams of sockets and pipes."};
constexpr metric_family io_transfers{"coflux_io_transfers", metric_type::counter, "",
                                     "Reads and writes of streams of sockets and pipes that the system has made."};
constexpr metric_family io_datagrams{"coflux_io_datagrams", metric_type::counter, "",
                                     "Datagrams that were received or sent."};
constexpr metric_family io_connections{"coflux_io_connections", metric_type::counter, "",
                                       "Connections that were made."};
constexpr metric_family io_waits{"coflux_io_waits", metric_type::counter, "",
                                 "Operations of sockets and pipes that had to wait."};

// Grows at its front alone, by release. acquire: a reader sees what it finds whole.
constinit atomic<io_counts*> all_io_counts{nullptr};
constinit io_counts shared_by_the_last;

// The first threads take no memory: an operation that allocates nothing does so on each worker.
constinit std::array<io_counts, 64> first_counts;
constinit atomic<std::size_t> first_used{0};  // of these, or more; relaxed: each thread has a number of its own

io_counts* make_io_counts() noexcept {
    if (first_used.load(memory_order_relaxed) < first_counts.size()) {
        const std::size_t number = first_used.fetch_add(1, memory_order_relaxed);
        if (number < first_counts.size()) return &first_counts[number];
    }
    return new (std::nothrow) io_counts;
}

void add_io_metrics(metric_snapshot& to) {
    const auto add = [&to](const metric_family& family, what kind, const char* name, const char* value) {
        std::vector<inspect::metric_label> labels;
        if (name != nullptr) labels.push_back({name, value});
        to.add(family, io_counts::sum(kind), std::move(labels));
    };
    add(io_bytes, what::bytes_in, "direction", "in");
    add(io_bytes, what::bytes_out, "direction", "out");
    add(io_transfers, what::transfers_in, "direction", "in");
    add(io_transfers, what::transfers_out, "direction", "out");
    add(io_datagrams, what::datagrams_in, "direction", "in");
    add(io_datagrams, what::datagrams_out, "direction", "out");
    add(io_connections, what::accepted, "side", "accepted");
    add(io_connections, what::connected, "side", "connected");
    add(io_waits, what::waits, nullptr, nullptr);
}

constinit process_metric_source source_of_io{&add_io_metrics};

}  // namespace

constinit thread_local io_counts* io_counts::of_this_thread = nullptr;

/// Gives a thread's counts to the next one when it ends.
struct io_counts_owner {
    ~io_counts_owner() {
        if (own != nullptr) own->taken_.store(false, memory_order_release);
        io_counts::of_this_thread = &shared_by_the_last;
    }
    io_counts* own = nullptr;
};

io_counts& io_counts::take_one() noexcept {
    static thread_local io_counts_owner owner;
    source_of_io.enter();
    io_counts* first = all_io_counts.load(memory_order_acquire);
    for (io_counts* c = first; c != nullptr && owner.own == nullptr; c = c->next_) {
        if (!c->taken_.load(memory_order_relaxed) && !c->taken_.exchange(true, memory_order_acquire)) owner.own = c;
    }
    if (owner.own == nullptr) {
        owner.own = make_io_counts();
        if (owner.own == nullptr) return shared_by_the_last;
        do {
            owner.own->next_ = first;
        } while (!all_io_counts.compare_exchange_weak(first, owner.own, memory_order_release, memory_order_acquire));
    }
    of_this_thread = owner.own;
    return *owner.own;
}

void io_counts::count_wait() noexcept {
    here().add(what::waits);
}

std::uint64_t io_counts::sum(what kind) noexcept {
    const auto value = [kind](const io_counts& c) {
        return c.counts_[static_cast<unsigned>(kind)].load(memory_order_relaxed);
    };
    std::uint64_t total = value(shared_by_the_last);
    for (const io_counts* c = all_io_counts.load(memory_order_acquire); c != nullptr; c = c->next_) total += value(*c);
    return total;
}

}  // namespace coflux::detail
