// A TLS stream that is cut, and a byte_sink over one.
#include <coflux/tls/stream.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;

/// True: the peer of one that was cut gets the bytes before, and then an error, and never an end.
coflux::call<bool> ends_in_an_error(coflux::environment&, tls_stream& from, std::string& got) {
    auto&& here = co_await coflux::context();
    std::string part(1000, ' ');
    try {
        while (const std::size_t n = co_await from.read_some(here, bytes_of(part))) got.append(part, 0, n);
    } catch (const std::system_error&) {
        co_return true;
    }
    co_return false;
}

TEST(tls_abort, tells_the_peer_and_fails_later_operations) {
    on_worker([](coflux::environment& env) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        (void)env;
        tls_pair p = co_await secured(here);
        p.far.abort();
        EXPECT_TRUE(p.far.is_open());
        std::string got;
        EXPECT_TRUE(co_await ends_in_an_error(here, p.near, got));
        EXPECT_THROW(co_await p.far.write_all(here, "x"), std::system_error);
        p.far.close();
        p.far.abort();
    });
}

/// A user puts it between a buffered_writer and a tls_stream.
struct tls_sink {
    tls_stream& to;
    coflux::call<std::size_t> write_some(coflux::environment&, std::span<const std::byte> from) {
        auto&& here = co_await coflux::context();
        co_await to.write_all(here, from);
        co_return from.size();
    }
    void abort() noexcept { to.abort(); }
};
coflux::call<void> forgets(coflux::environment&, tls_stream& to) {
    auto&& here = co_await coflux::context();
    tls_sink sink{to};
    coflux::buffered_writer out(sink);
    co_await out.write_all(here, "half an ");
    co_await out.flush(here);
    co_await out.write_all(here, "answer");
}
bool was_told = false;
#ifdef NDEBUG
constexpr bool checks_a_flush = false;
#else
constexpr bool checks_a_flush = true;
#endif
TEST(tls_abort, is_what_a_forgotten_flush_comes_to) {
    if (checks_a_flush) GTEST_SKIP() << "the check of a forgotten flush ends the process";
    was_told = false;
    worker w;
    auto env = coflux::make_environment(w);
    env.on_unobserved_error([](const std::exception_ptr&) noexcept { was_told = true; });
    auto program = [](coflux::environment&) -> coflux::task<void, worker> {
        auto&& here = co_await coflux::context();
        tls_pair p = co_await secured(here);
        co_await forgets(here, p.far);
        std::string got;
        EXPECT_TRUE(co_await ends_in_an_error(here, p.near, got));
        EXPECT_TRUE(got.empty() || got == "half an ");
    };
    program(env).get();
    EXPECT_TRUE(was_told);
}

}  // namespace
