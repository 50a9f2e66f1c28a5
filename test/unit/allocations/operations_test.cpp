// An operation of a socket does not take these: memory or an exception for an error that is asked for as a value, and a
// frame for itself or its limit.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>

#include "unit/io/connected.hpp"
#include "unit/io/few_descriptors.hpp"

namespace coflux_test {

inline std::atomic<std::size_t> exceptions_made{0};

}  // namespace coflux_test

extern "C" {

/// In place of that of the C++ library: each throw begins with it.
void* __cxa_allocate_exception(std::size_t size) noexcept {
    using function = void*(std::size_t);
    static auto* const real = reinterpret_cast<function*>(dlsym(RTLD_NEXT, "__cxa_allocate_exception"));
    ++coflux_test::exceptions_made;
    return real(size);
}

}  // extern "C"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::tcp_stream;
using coflux_test::exceptions_made;
using worker = coflux::worker_executor;

/// The objects that were made since.
struct made {
    std::size_t calls_of_new = coflux::testing::new_calls();
    std::size_t exceptions = exceptions_made;

    void check_none(const char* what) const {
        EXPECT_EQ(coflux::testing::new_calls(), calls_of_new) << what;
        EXPECT_EQ(exceptions_made, exceptions) << what;
    }
};

coflux::fork<std::error_code, worker> reads_in_vain(coflux::environment&, tcp_stream* from) {
    std::byte one{};
    const auto got = co_await as_result(from->read_some(std::span(&one, 1)));
    co_return got ? std::error_code() : got.error();
}
coflux::task<void, worker> reads_what_is_reset(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux_test::stream_pair> pairs;
    for (int i = 0; i < 30; ++i) pairs.push_back(co_await coflux_test::connected(here));
    made before;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (i == 10) before = made();
        auto& [near, far] = pairs[i];
        auto reader = reads_in_vain(here, &near);
        for (std::size_t y = 0; y < i % 3; ++y) co_await coflux::this_coroutine::yield();  // it waits, or not
        far.reset();
        EXPECT_EQ(co_await std::move(reader), std::errc::connection_reset);
    }
    before.check_none("a read");
}
TEST(allocations_of_sockets, are_none_for_an_error_of_a_read_that_is_a_value) {
    coflux_test::on_a_worker(reads_what_is_reset);
}

coflux::task<void, worker> connects_in_vain(coflux::environment&) {
    coflux::endpoint none_listens;
    {
        const coflux::tcp_listener listener(coflux_test::own_loopback());
        none_listens = listener.local_endpoint();
    }
    made before;
    for (int i = 0; i < 30; ++i) {
        if (i == 10) before = made();
        const auto got = co_await as_result(tcp_stream::connect(none_listens));
        EXPECT_EQ(got.error(), std::errc::connection_refused);
    }
    before.check_none("a connect");
}
TEST(allocations_of_sockets, are_none_for_an_error_of_a_connect_that_is_a_value) {
    coflux_test::on_a_worker(connects_in_vain);
}

coflux::task<void, worker> accepts_in_vain(coflux::environment&) {
    coflux::tcp_listener listener(coflux_test::own_loopback());
    const tcp_stream waits_for_it = co_await tcp_stream::connect(listener.local_endpoint());
    const coflux_test::few_descriptors none(0);
    made before;
    for (int i = 0; i < 30; ++i) {
        if (i == 10) before = made();
        const auto got = co_await as_result(listener.accept());
        EXPECT_FALSE(got.has_value());
        EXPECT_EQ(got.error(), std::errc::too_many_files_open);
    }
    before.check_none("an accept");
}
TEST(allocations_of_sockets, are_none_for_an_error_of_an_accept_that_is_a_value) {
    if (coflux_test::checks_need_descriptors) GTEST_SKIP() << "UBSan opens descriptors of its own";
    coflux_test::on_a_worker(accepts_in_vain);
}

// --- frames ----------------------------------------------------------------------------------------------------------

coflux::fork<void, worker> sends_each_turn(coflux::environment&, tcp_stream* to, const bool* ends) {
    while (!*ends) {
        EXPECT_EQ(::send(to->native_handle(), "x", 1, 0), 1);
        co_await coflux::this_coroutine::yield();
    }
}
coflux::call<std::size_t> called(coflux::environment&, std::size_t value) {
    co_return value;
}
/// Each of them waits: the sender has its turn meanwhile.
coflux::task<void, worker> takes_no_frame(coflux::environment&, coflux::counting_resource* frames) {
    auto&& here = co_await coflux::context();
    auto p = co_await coflux_test::connected(here);
    std::array<std::byte, 1> one{};
    const auto read_all = [&] {
        while (::recv(p.near.native_handle(), one.data(), 1, MSG_DONTWAIT) > 0) {}
    };
    bool ends = false;
    auto sender = sends_each_turn(here, &p.far, &ends);
    const std::size_t before = frames->allocations();
    read_all();
    (void)co_await p.near.read_some(one);
    EXPECT_EQ(frames->allocations(), before) << "a read";
    read_all();
    (void)co_await as_result(p.near.read_some(one));
    EXPECT_EQ(frames->allocations(), before) << "one whose error is a value";
    read_all();
    EXPECT_TRUE((co_await coflux::timeout(p.near.read_some(one), 1h)).has_value());
    EXPECT_EQ(frames->allocations(), before) << "one with a limit";
    read_all();
    const auto end = std::chrono::steady_clock::now() + 1h;
    EXPECT_TRUE((co_await coflux::deadline(p.near.read_some(one), end)).has_value());
    EXPECT_EQ(frames->allocations(), before) << "one with a deadline";
    read_all();
    EXPECT_TRUE((co_await coflux::timeout(as_result(p.near.read_some(one)), 1h)).has_value());
    EXPECT_EQ(frames->allocations(), before) << "one with both";
    EXPECT_TRUE((co_await coflux::timeout(p.near.write_some("x"), 1h)).has_value());
    EXPECT_EQ(frames->allocations(), before) << "one that ends at once";
    ends = true;
    co_await std::move(sender);
    read_all();
    EXPECT_FALSE((co_await coflux::timeout(p.near.read_some(one), 1ms)).has_value());
    EXPECT_EQ(frames->allocations(), before) << "one that ends by its limit";

    (void)co_await coflux::timeout(called(here, 1), 1h);
    EXPECT_GT(frames->allocations(), before) << "what takes frames is counted";
}
TEST(allocations_of_sockets, are_no_frames) {
    worker on;
    coflux::counting_resource frames;
    auto env = coflux::make_environment(&frames, on);
    takes_no_frame(env, &frames).get();
}

}  // namespace
