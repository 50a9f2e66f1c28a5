#include <coflux/stream/windowed.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using coflux_test::ms;

template <typename T>
T stored_and_loaded(const T& value) {
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    out(value);
    stream::state_reader in(bytes);
    T back{};
    in(back);
    EXPECT_EQ(in.left(), 0U);
    return back;
}

TEST(windowed, is_storable) {
    const stream::windowed<std::string, std::uint64_t> result{"a", ms(-5), ms(5), 7};
    EXPECT_EQ(stored_and_loaded(result), result);
    const stream::late_record<int> late{3, ms(4)};
    EXPECT_EQ(stored_and_loaded(late), late);
}

}  // namespace
