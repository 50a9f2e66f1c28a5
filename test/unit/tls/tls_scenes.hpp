// The common part of the tests of TLS streams: executors, moments, and coroutines that read and write.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/tls/stream.hpp>

#include "certificates.hpp"
#include "secured.hpp"

namespace coflux_test {

using namespace std::chrono_literals;
using coflux::tls_stream;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

inline auto soon() {
    return std::chrono::steady_clock::now() + 5ms;
}
inline auto late() {
    return std::chrono::steady_clock::now() + 60s;
}

/// Runs a root on a worker, or on a pool of two threads.
template <typename... Args>
void get_on_worker(coflux::task<void, worker> (*root)(coflux::environment&, Args...),
                   std::type_identity_t<Args>... args) {
    worker w;
    auto env = coflux::make_environment(w);
    root(env, args...).get();
}
template <typename... Args>
void get_on_pool(coflux::task<void, pool> (*root)(coflux::environment&, Args...), std::type_identity_t<Args>... args) {
    pool p{2};
    auto env = coflux::make_environment(p);
    root(env, args...).get();
}

/// Runs `f(here)` on a worker.
template <typename F>
coflux::task<void, worker> runs(coflux::environment&, F* f) {
    auto&& here = co_await coflux::context();
    co_await (*f)(here);
}
template <typename F>
void on_worker(F f) {
    worker w;
    auto env = coflux::make_environment(w);
    runs(env, &f).get();
}

inline void expect_in(const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

template <typename E>
coflux::fork<void, E> writes(coflux::environment&, tls_stream* to, std::string bytes) {
    auto&& here = co_await coflux::context();
    co_await to->write_all(here, bytes);
}
/// So many bytes, or fewer where the stream ends.
template <typename E>
coflux::fork<std::string, E> reads(coflux::environment&, tls_stream* from, std::size_t size) {
    auto&& here = co_await coflux::context();
    std::string bytes(size, ' ');
    std::size_t got = 0;
    while (got < size) {
        const std::size_t n = co_await from->read_some(here, bytes_of(bytes).subspan(got));
        if (n == 0) break;
        got += n;
    }
    bytes.resize(got);
    co_return bytes;
}

}  // namespace coflux_test
