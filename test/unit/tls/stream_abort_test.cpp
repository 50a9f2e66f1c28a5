// A TLS stream that is cut.
#include <coflux/tls/stream.hpp>

#include <cstddef>
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

}  // namespace
