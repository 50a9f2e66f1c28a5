#include <coflux/core/indexed.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace {

TEST(indexed, has_index_and_value_by_name_and_by_structured_binding) {
    coflux::indexed<std::string> x(3, "three");
    EXPECT_EQ(x.index(), 3U);
    x.value() += "!";
    const auto& [index, value] = x;
    EXPECT_EQ(index, 3U);
    EXPECT_EQ(value, "three!");
}

TEST(indexed, gives_up_what_can_only_be_moved) {
    auto [index, value] = coflux::indexed<std::unique_ptr<int>>(1, std::make_unique<int>(7));
    EXPECT_EQ(index, 1U);
    EXPECT_EQ(*value, 7);
    coflux::indexed<std::unique_ptr<int>> y(1, std::make_unique<int>(8));
    const std::unique_ptr<int> taken = std::move(y).value();
    EXPECT_EQ(*taken, 8);
    EXPECT_EQ(y.value(), nullptr);
}

TEST(indexed, keeps_a_reference_as_one) {
    int n = 1;
    coflux::indexed<int&> x(0, n);
    x.value() = 2;
    EXPECT_EQ(n, 2);
    const coflux::indexed<const int&> y(0, n);
    EXPECT_EQ(&y.value(), &n);
    static_assert(std::is_same_v<std::tuple_element_t<1, coflux::indexed<int&>>, int&>);
}

TEST(indexed, of_nothing_has_an_index_only) {
    EXPECT_EQ(coflux::indexed<void>(5).index(), 5U);
}

}  // namespace
