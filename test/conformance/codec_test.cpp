// The laws of a codec and of a key: ours keep them, and those that break one are found out.
#include <coflux/testing/conformance/codec_suite.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/stream/key.hpp>
#include <coflux/stream/state.hpp>

namespace conformance_of_codec {

namespace stream = coflux::stream;

enum class colour : std::uint8_t { red, green };

/// One value of each kind that has a codec.
struct everything {
    std::int64_t number = 0;
    bool flag = false;
    double real = 0;
    colour shade = colour::red;
    std::string text{};
    std::chrono::seconds length{};
    std::chrono::sys_seconds time{};
    std::pair<std::string, int> two{};
    std::tuple<int, std::string, bool> three{};
    std::optional<std::string> perhaps{};
    std::vector<std::string> many{};
    std::vector<bool> bits{};

    friend bool operator==(const everything&, const everything&) = default;
    template <typename A>
    void fields(A& all) {
        all(number, flag, real, shade, text, length, time, two, three, perhaps, many, bits);
    }
};
struct everything_of_ours {
    std::vector<everything> operator()() const {
        everything full;
        full.number = std::numeric_limits<std::int64_t>::min();
        full.flag = true;
        full.real = 0.1;
        full.shade = colour::green;
        full.text = std::string("a\0b", 3);
        full.length = std::chrono::seconds(-1);
        full.time = std::chrono::sys_seconds(std::chrono::seconds(1));
        full.two = {"two", 2};
        full.three = {3, "three", true};
        full.perhaps = "";
        full.many = {"", "x", std::string(100, 'y')};
        full.bits = {true, false, true};
        everything other;
        other.perhaps = "there";
        other.many = {"z"};
        return {full, everything(), other};
    }
};

template <typename K, K (*Of)(std::uint64_t)>
struct thousand {
    std::vector<K> operator()() const {
        std::vector<K> all;
        for (std::uint64_t i = 0; i != 1'000; ++i) all.push_back(Of(i));
        return all;
    }
};
inline std::uint64_t number(std::uint64_t i) {
    return i << 20;
}
inline std::string text(std::uint64_t i) {
    return "customer " + std::to_string(i);
}
using parts = std::tuple<std::string, std::string, std::uint32_t>;
inline parts in_parts(std::uint64_t i) {
    return {std::string(i % 10, 'a'), std::string(9 - i % 10, 'a'), static_cast<std::uint32_t>(i / 10)};
}

}  // namespace conformance_of_codec

namespace coflux::testing {

using namespace conformance_of_codec;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, codec_conformance, everything_of_ours);
using our_keys =
    ::testing::Types<thousand<std::uint64_t, &number>, thousand<std::string, &text>, thousand<parts, &in_parts>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, key_conformance, our_keys);

}  // namespace coflux::testing

namespace conformance_of_codec {

/// As a user would write it, with a fault or with none.
enum class fault { none, forgets_a_part, takes_too_much, adds_to_what_is_there, trusts_a_size, looks_at_what_is_left };
template <fault Fault>
struct list {
    std::vector<std::uint8_t> all;

    friend bool operator==(const list&, const list&) = default;
};

}  // namespace conformance_of_codec

template <conformance_of_codec::fault Fault>
struct coflux::stream::codec<conformance_of_codec::list<Fault>> {
    using list = conformance_of_codec::list<Fault>;
    using fault = conformance_of_codec::fault;

    static void write(state_writer& out, const list& value) {
        out.size(value.all.size());
        for (const std::uint8_t each : value.all) out(Fault == fault::forgets_a_part ? std::uint8_t{0} : each);
    }
    static void read(state_reader& in, list& into) {
        if (Fault != fault::adds_to_what_is_there) into.all.clear();
        constexpr bool is_checked = Fault != fault::trusts_a_size && Fault != fault::looks_at_what_is_left;
        auto size = is_checked ? in.size() : in.number<std::uint64_t>();
        if (Fault == fault::trusts_a_size && size > 1'000) throw std::length_error("a vector of so many");
        if (Fault == fault::takes_too_much) ++size;
        for (; size != 0; --size) {
            if (Fault == fault::looks_at_what_is_left && in.left() == 0) return;
            into.all.push_back(in.number<std::uint8_t>());
        }
    }
};

namespace conformance_of_codec {

template <fault Fault>
struct lists {
    std::vector<list<Fault>> operator()() const { return {{{1, 2, 3}}, {{}}, {{7}}}; }
};
/// Returns: the laws that are broken.
template <typename Found>
std::vector<std::string> laws(const Found& found) {
    std::vector<std::string> names;
    for (const auto& each : found) names.push_back(each.law);
    return names;
}
template <fault Fault>
std::vector<std::string> broken_by() {
    return laws(coflux::testing::check_codec(lists<Fault>()));
}

TEST(codec_conformance_suite, finds_a_codec_that_breaks_a_law) {
    using all = std::vector<std::string>;
    EXPECT_EQ(broken_by<fault::none>(), all());
    EXPECT_EQ(broken_by<fault::forgets_a_part>().front(), "reads_what_was_written");
    EXPECT_EQ(broken_by<fault::takes_too_much>().front(), "reads_what_was_written");
    EXPECT_EQ(broken_by<fault::adds_to_what_is_there>(), all{"replaces_what_was_there"});
    EXPECT_EQ(broken_by<fault::trusts_a_size>(), all{"survives_changed_bytes"});
    EXPECT_EQ(broken_by<fault::looks_at_what_is_left>(), all{"refuses_too_few_bytes"});
}

enum class key_fault { none, equals_all, hashes_its_address, forgets_a_part, mixes_nothing };
template <key_fault Fault>
struct broken_key {
    std::uint64_t a = 0;
    std::uint64_t b = 0;

    friend bool operator==(const broken_key& x, const broken_key& y) {
        return x.a == y.a && (x.b == y.b || Fault == key_fault::equals_all);
    }
    friend std::uint64_t hash_of_key(const broken_key& k) noexcept {
        if (Fault == key_fault::hashes_its_address) return stream::key_hash()(reinterpret_cast<std::uintptr_t>(&k));
        if (Fault == key_fault::forgets_a_part) return stream::key_hash()(k.a);
        if (Fault == key_fault::mixes_nothing) return k.a * 1'000 + k.b;
        return stream::key_hash()(std::pair(k.a, k.b));
    }
    template <typename A>
    void fields(A& all) {
        all(a, b);
    }
};
template <key_fault Fault>
broken_key<Fault> key_of(std::uint64_t i) {
    return {i / 100, i % 100};
}
template <key_fault Fault>
std::vector<std::string> broken_by() {
    return laws(coflux::testing::check_key(thousand<broken_key<Fault>, &key_of<Fault>>()));
}

TEST(key_conformance_suite, finds_a_key_that_breaks_a_law) {
    using all = std::vector<std::string>;
    EXPECT_EQ(broken_by<key_fault::none>(), all());
    EXPECT_EQ(broken_by<key_fault::equals_all>(), all{"is_equal_to_itself_alone"});
    EXPECT_EQ(broken_by<key_fault::hashes_its_address>(), all{"has_one_hash"});
    EXPECT_EQ(broken_by<key_fault::forgets_a_part>(), all{"spreads"});
    EXPECT_EQ(broken_by<key_fault::mixes_nothing>(), all{"spreads"});
}

}  // namespace conformance_of_codec
