#include <coflux/base/address_of.hpp>

#include <gtest/gtest.h>

namespace {

struct hides_its_address {
    int value = 0;
    int operator&() const { return 0; }
};

TEST(address_of, is_not_what_an_operator_says) {
    const hides_its_address object{1};
    EXPECT_EQ(static_cast<const void*>(coflux::detail::address_of(object)), &object.value);
    hides_its_address changing;
    EXPECT_EQ(static_cast<const void*>(coflux::detail::address_of(changing)), &changing.value);
}

}  // namespace
