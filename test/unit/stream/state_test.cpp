#include <coflux/stream/state.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace stream = coflux::stream;

enum class color : std::uint8_t { red, green };
struct own {
    int a = 0;
    std::vector<std::string> b{};
    friend bool operator==(const own&, const own&) = default;
    template <typename A>
    void fields(A& all) {
        all(a, b);
    }
};

template <typename T>
std::vector<std::byte> stored(const T& value) {
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    out(value);
    return bytes;
}
template <typename T>
T restored(std::span<const std::byte> bytes) {
    T value{};
    stream::state_reader in(bytes);
    in(value);
    EXPECT_EQ(in.left(), 0U);
    return value;
}
template <typename T>
void expect_same(const T& value) {
    EXPECT_EQ(restored<T>(stored(value)), value);
}

TEST(codec, gives_back_what_was_stored) {
    expect_same(std::int64_t{-5});
    expect_same(3.25);
    expect_same(true);
    expect_same(color::green);
    expect_same(std::string("with\0zero", 9));
    expect_same(std::chrono::milliseconds(-7));
    expect_same(std::chrono::sys_time<std::chrono::seconds>(std::chrono::seconds(12)));
    expect_same(std::pair(std::string("a"), 1));
    expect_same(std::tuple(1, std::string(), 2.5));
    expect_same(std::optional<int>());
    expect_same(std::optional<std::string>("x"));
    expect_same(std::vector<std::optional<int>>{1, {}, 3});
    expect_same(std::vector<bool>{true, false, true});
    expect_same(own{4, {"x", "", "yz"}});
}

TEST(codec, refuses_bytes_that_are_torn) {
    const auto whole = stored(own{4, {"x", "yz"}});
    for (std::size_t n = 0; n != whole.size(); ++n) {
        EXPECT_THROW((void)restored<own>(std::span(whole).first(n)), stream::corrupt_state) << n;
    }
}

TEST(codec, refuses_what_is_neither_true_nor_false) {
    std::vector<std::byte> bytes{std::byte{2}};
    EXPECT_THROW((void)restored<bool>(bytes), stream::corrupt_state);
    EXPECT_THROW((void)restored<std::optional<int>>(bytes), stream::corrupt_state);
}

TEST(codec, refuses_a_count_that_cannot_be) {
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    out(std::uint64_t{1} << 60);
    EXPECT_THROW((void)restored<std::vector<int>>(bytes), stream::corrupt_state);
    EXPECT_THROW((void)restored<std::string>(bytes), stream::corrupt_state);
}

}  // namespace
