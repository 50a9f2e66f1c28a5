#include <coflux/stream/text_line.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using coflux::stream::bad_text;
using coflux::stream::text_line;

TEST(text_line, is_named_by_errors_as_far_as_it_is_known) {
    const std::string file = "a.csv";
    EXPECT_EQ(bad_text(text_line{"x", 7, &file}, "why").what(), std::string("coflux: a.csv, line 7: why"));
    EXPECT_EQ(bad_text(text_line{"x", 7}, "why").what(), std::string("coflux: line 7: why"));
    EXPECT_EQ(bad_text(file, 0, "why").what(), std::string("coflux: a.csv: why"));
    EXPECT_EQ(bad_text("", 0, "why").what(), std::string("coflux: why"));
    EXPECT_EQ(bad_text(file, 7, "why").file(), "a.csv");
    EXPECT_EQ(bad_text(file, 7, "why").line(), 7U);
}

}  // namespace
