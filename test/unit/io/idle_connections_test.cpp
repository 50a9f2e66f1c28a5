// Many connections that wait: law 7, and what each costs.
#include <coflux/io/tcp.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "support/cpu_clock.hpp"
#include "support/iterations.hpp"

namespace {

using coflux::tcp_stream;
using coflux_test::stream_pair;
using std::chrono::milliseconds;

constexpr std::size_t wanted = 5000;
/// Pairs: as many as the limit of descriptors has room for.
std::size_t how_many() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return std::min<std::size_t>(wanted, limit.rlim_max / 2 - 100);
}
/// Bytes of memory that the process has touched. What malloc counts is more: it maps what is aligned to its size twice.
std::ptrdiff_t resident() {
    std::ifstream of_process("/proc/self/smaps_rollup");
    for (std::string word; of_process >> word;) {
        std::ptrdiff_t kilobytes = 0;
        if (word == "Rss:" && of_process >> kilobytes) return kilobytes * 1024;
    }
    std::abort();
}

/// Until the process has done nothing for a while; not for ever, where it does not become quiet. By the clock, as the
/// test itself: what is asked is how much processor time passes while nothing comes.
void wait_until_quiet() {
    for (int i = 0; i < 200; ++i) {
        const double before = coflux_test::process_cpu_seconds();
        std::this_thread::sleep_for(milliseconds(50));
        if (coflux_test::process_cpu_seconds() - before < 0.0005) return;
    }
}

constexpr int window = 2;  // seconds
/// What the process takes in a window in which nothing comes: long enough for what comes once a second. Of three,
/// because once in its rest a worker gives memory back, and the system counts interrupts with whom they interrupt.
double seconds_of_a_window(double enough) {
    double used = enough;
    for (int i = 0; i < 3 && used >= enough; ++i) {
        const double before = coflux_test::process_cpu_seconds();
        std::this_thread::sleep_for(std::chrono::seconds(window));
        used = coflux_test::process_cpu_seconds() - before;
    }
    return used;
}

template <typename E>
coflux::fork<void, E> waits(coflux::environment&, tcp_stream* from) {
    co_await from->wait_readable();
}
template <typename E>
coflux::task<std::vector<stream_pair>, E> connects(coflux::environment&, std::size_t n) {
    std::vector<stream_pair> all;
    all.reserve(n);
    coflux::tcp_listener listener(coflux_test::own_loopback());
    for (std::size_t i = 0; i < n; ++i) {
        stream_pair p;
        p.near = co_await tcp_stream::connect(listener.local_endpoint());
        p.far = co_await listener.accept();
        all.push_back(std::move(p));
    }
    co_return all;
}
/// They begin to wait, and are stopped later.
template <typename E>
coflux::task<void, E> wait_all(coflux::environment&, std::vector<stream_pair>* all) {
    auto&& here = co_await coflux::context();
    for (stream_pair& p : *all) {
        waits<E>(here, &p.near).attach();
        waits<E>(here, &p.far).attach();
    }
}

template <typename E>
void cost_little(E& executor) {
    const std::size_t n = how_many();
    auto env = coflux::make_environment(executor);
    const std::ptrdiff_t bare = resident();
    auto all = connects<E>(env, n).get();
    const std::ptrdiff_t connected = resident();
    auto root = wait_all<E>(env, &all);
    wait_until_quiet();  // all wait, and the executor is parked
    // Less than nothing, where a test that this process ran before has left memory: the allocator uses that first.
    const auto of_each = [n](std::ptrdiff_t more) { return more / static_cast<std::ptrdiff_t>(2 * n); };
    const std::ptrdiff_t of_a_stream = of_each(connected - bare);
    const std::ptrdiff_t of_a_wait = of_each(resident() - connected);
    constexpr double enough = window * (coflux_test::sanitized ? 0.01 : 0.001);  // 0.1 % of a processor
    const double used = seconds_of_a_window(enough);
    EXPECT_LT(used, enough);
    // Of fewer each has too great a part of what is touched once.
    if (coflux_test::optimized && !coflux_test::sanitized && n >= 4000) {
        EXPECT_LE(of_a_stream + of_a_wait, 1024);
    }
    testing::Test::RecordProperty("bytes_of_a_stream", static_cast<int>(of_a_stream));
    testing::Test::RecordProperty("bytes_of_a_wait", static_cast<int>(of_a_wait));
    testing::Test::RecordProperty("ns_of_processor_time", static_cast<int>(used * 1e9));
    testing::Test::RecordProperty("pairs_of_streams", static_cast<int>(n));
    env.request_stop();
    (void)root.join();
    if (n < wanted) GTEST_SKIP() << "it held for " << n << " pairs: the process may have no more descriptors";
}

TEST(idle_connections, cost_little_on_a_worker) {
    coflux::worker_executor worker;
    cost_little(worker);
}
TEST(idle_connections, cost_little_on_a_pool) {
    coflux::thread_pool_executor pool(2);
    cost_little(pool);
}

}  // namespace
