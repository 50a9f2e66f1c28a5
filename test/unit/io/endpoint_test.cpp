#include <coflux/io/endpoint.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace {

using namespace std::string_view_literals;
using coflux::endpoint;

TEST(endpoint, is_written_as_it_is_read) {
    EXPECT_EQ(endpoint::ip("127.0.0.1", 80).to_string(), "127.0.0.1:80");
    EXPECT_EQ(endpoint::ip("::1", 443).to_string(), "[::1]:443");
    EXPECT_EQ(endpoint::any(7).to_string(), "0.0.0.0:7");
    EXPECT_EQ(endpoint::loopback(0).to_string(), "127.0.0.1:0");
    EXPECT_EQ(endpoint::local("/tmp/socket").to_string(), "/tmp/socket");
    EXPECT_EQ(endpoint::local(std::string_view("\0name", 5)).to_string(), "@name");
    EXPECT_EQ(endpoint().to_string(), "nowhere");
}

TEST(endpoint, has_addresses_of_ipv6_by_name) {
    EXPECT_EQ(endpoint::any_v6(7).to_string(), "[::]:7");
    EXPECT_EQ(endpoint::loopback_v6(7), endpoint::ip("::1", 7));
}

TEST(endpoint, keeps_the_interface_of_a_link_local_address) {
    const endpoint by_name = endpoint::ip("fe80::1%lo", 80);
    EXPECT_EQ(by_name.to_string(), "[fe80::1%lo]:80");
    EXPECT_EQ(by_name.port(), 80);
    EXPECT_EQ(by_name, endpoint::ip("fe80::1%1", 80)) << "the loopback interface is the first";
    EXPECT_NE(by_name, endpoint::ip("fe80::1", 80));
    EXPECT_EQ(endpoint::ip("ff02::1%lo", 80).to_string(), "[ff02::1%lo]:80");
    EXPECT_EQ(endpoint::ip("fe80::1%4000000000", 80).to_string(), "[fe80::1%4000000000]:80") << "no such interface";
    EXPECT_EQ(endpoint::ip("fe80::1", 80).to_string(), "[fe80::1]:80");
    for (const char* const wrong : {"fe80::1%", "fe80::1%none7", "fe80::1%0", "fe80::1%-1", "::1%lo", "127.0.0.1%lo",
                                    "%lo", "fe80::1%5000000000"})
        EXPECT_THROW((void)endpoint::ip(wrong, 80), std::invalid_argument) << wrong;
    try {
        (void)endpoint::ip("fe80::1%none7", 80);
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(e.what(), "coflux: 'fe80::1%none7' is no numeric address at an interface of this machine");
    }
}

TEST(endpoint, has_a_port_where_its_protocol_has_one) {
    EXPECT_EQ(endpoint::ip("::1", 443).port(), 443);
    EXPECT_EQ(endpoint::loopback(80).port(), 80);
    EXPECT_EQ(endpoint::local("/tmp/socket").port(), 0);
    EXPECT_EQ(endpoint().port(), 0);
    EXPECT_EQ(endpoint().family(), 0);
}

TEST(endpoint, equals_what_says_the_same) {
    EXPECT_EQ(endpoint::loopback(80), endpoint::ip("127.0.0.1", 80));
    EXPECT_NE(endpoint::loopback(80), endpoint::loopback(81));
    EXPECT_NE(endpoint::loopback(80), endpoint());
}

TEST(endpoint, refuses_what_is_no_address_and_names_it) {
    try {
        (void)endpoint::ip("localhost", 80);
        FAIL();
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("'localhost'"), std::string::npos);
    }
    EXPECT_THROW((void)endpoint::ip("1.2.3", 80), std::invalid_argument);
    EXPECT_THROW((void)endpoint::local(std::string(200, 'x')), std::invalid_argument);
    EXPECT_THROW((void)endpoint::local(""), std::invalid_argument);
    for (const std::string_view cut : {"127.0.0.1\0.org"sv, "::1\0x"sv, "127.0.0.1\0"sv})
        EXPECT_THROW((void)endpoint::ip(cut, 80), std::invalid_argument) << "what is behind a zero byte counts";
    EXPECT_THROW((void)endpoint::local("/tmp/one\0.sock"sv), std::invalid_argument);
    EXPECT_NO_THROW((void)endpoint::local("\0an abstract\0name"sv));
    EXPECT_THROW((void)endpoint::local("\0name"), std::invalid_argument) << "a literal ends at its first zero byte";
}

}  // namespace
