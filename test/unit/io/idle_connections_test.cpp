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
/// Bytes of memory that the process has touched. The count of malloc is more: it maps what is aligned to its size
/// twice.
std::ptrdiff_t resident() {
    std::ifstream of_process("/proc/self/smaps_rollup");
    for (std::string word; of_process >> word;) {
        std::ptrdiff_t kilobytes = 0;
        if (word == "Rss:" && of_process >> kilobytes) return kilobytes * 1024;
    }
    std::abort();
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
    while (!coflux_test::comes_to_rest(0.01, milliseconds(50))) {}  // all wait, and the executor is parked
    // Less than nothing, where a test that this process ran before has left memory: the allocator uses that first.
    const auto of_each = [n](std::ptrdiff_t more) { return more / static_cast<std::ptrdiff_t>(2 * n); };
    const std::ptrdiff_t of_a_stream = of_each(connected - bare);
    const std::ptrdiff_t of_a_wait = of_each(resident() - connected);
    // Long enough for what comes once a second.
    EXPECT_TRUE(coflux_test::comes_to_rest(coflux_test::sanitized ? 0.01 : 0.001, milliseconds(2000)));
    // Each of fewer has too great a part of what is touched once.
    if (coflux_test::optimized && !coflux_test::sanitized && n >= 4000) {
        EXPECT_LE(of_a_stream + of_a_wait, 1024);
    }
    testing::Test::RecordProperty("bytes_of_a_stream", static_cast<int>(of_a_stream));
    testing::Test::RecordProperty("bytes_of_a_wait", static_cast<int>(of_a_wait));
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
