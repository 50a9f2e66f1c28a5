// Frames of all sizes, below and beyond what the frame pool has lists for, keep what they hold and give their memory
// back.
#include <coflux/coflux.hpp>

#include <array>
#include <cstddef>
#include <utility>

#include <malloc.h>

#include <gtest/gtest.h>

#include "support/iterations.hpp"

namespace {

using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

template <std::size_t Bytes>
std::array<unsigned char, Bytes> filled(int x) {
    std::array<unsigned char, Bytes> bytes;
    bytes.fill(static_cast<unsigned char>(x));
    return bytes;
}
/// How many bytes of `bytes` are `x`.
int count_of(const auto& bytes, int x) {
    int n = 0;
    for (const unsigned char b : bytes) n += b == static_cast<unsigned char>(x) ? 1 : 0;
    return n;
}

// A frame of at least so many bytes in which nothing has a destructor. Every fourth suspends: one that does not may end
// within its awaiter's await.
template <std::size_t Bytes, typename E>
coflux::fork<int, E> holds(coflux::environment&, int x) {
    auto bytes = filled<Bytes>(x);
    if (x % 4 == 0) co_await coflux::yield();
    co_return count_of(bytes, x);
}
template <std::size_t Bytes>
coflux::call<int> holds_in_a_call(coflux::environment&, int x) {
    auto bytes = filled<Bytes>(x);
    if (x % 4 == 0) co_await coflux::yield();
    co_return count_of(bytes, x);
}

template <std::size_t Bytes, typename E>
coflux::task<void, E> makes_some(auto&&, int rounds) {
    constexpr int all = static_cast<int>(Bytes);
    auto&& here = co_await coflux::context();
    for (int i = 0; i < rounds; ++i) {
        auto a = holds<Bytes, E>(here, i);
        auto b = holds<Bytes, E>(here, i + 1);
        auto c = holds<Bytes, E>(here, i + 2);
        EXPECT_EQ(co_await std::move(b), all);
        EXPECT_EQ(co_await holds_in_a_call<Bytes>(here, i), all);
        EXPECT_EQ(co_await std::move(a), all);
        EXPECT_EQ(co_await std::move(c), all);
    }
}

template <std::size_t Bytes, typename E>
struct of {
    static constexpr std::size_t bytes = Bytes;
    using executor = E;
};

template <typename Of>
class frame_sizes : public testing::Test {
protected:
    static void run(int rounds) {
        auto env = coflux::make_environment(typename Of::executor());
        makes_some<Of::bytes, typename Of::executor>(env, rounds).get();
    }
};
using sizes = testing::Types<of<100, noop>, of<1'000, noop>, of<1'900, noop>, of<2'100, noop>, of<3'900, noop>,
                             of<4'200, noop>, of<6'000, noop>, of<8'000, noop>, of<9'000, noop>, of<40'000, noop>,
                             of<100, pool>, of<2'100, pool>, of<3'900, pool>, of<4'200, pool>, of<9'000, pool>>;
TYPED_TEST_SUITE(frame_sizes, sizes);

TYPED_TEST(frame_sizes, keep_what_they_hold) {
    this->run(100);
}

TYPED_TEST(frame_sizes, give_their_memory_back) {
    if (!coflux_test::at_full_speed) GTEST_SKIP() << "the sanitizers have their own heap, and at -O0 it takes long";
    constexpr std::size_t kept_by_the_pool = 4 * 1024 * 1024;
    this->run(100);
    const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    this->run(static_cast<int>(4 * kept_by_the_pool / TypeParam::bytes));
    EXPECT_LE(mallinfo2().uordblks + mallinfo2().hblkhd, before + kept_by_the_pool);
}

}  // namespace
