#include <coflux/stream/csv.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <coflux/stream/text_line.hpp>

namespace {

namespace stream = coflux::stream;
using fields = std::vector<std::string>;

std::string error_of(std::string_view record) {
    try {
        (void)stream::csv_fields()(record);
    } catch (const stream::bad_text& e) {
        return e.what();
    }
    return "none";
}

TEST(csv, splits_a_record_at_separators_outside_of_quotes) {
    const stream::csv_fields split;
    EXPECT_EQ(split(""), fields{""});
    EXPECT_EQ(split("a"), fields{"a"});
    EXPECT_EQ(split("a,b c,"), (fields{"a", "b c", ""}));
    EXPECT_EQ(split(",,"), (fields{"", "", ""}));
    EXPECT_EQ(split("\"a,b\",\"\",\"say \"\"x\"\"\",\"two\nlines\""), (fields{"a,b", "", "say \"x\"", "two\nlines"}));
    EXPECT_EQ(split("\"\"\"\""), fields{"\""});
    EXPECT_EQ(stream::csv_fields(';')("a;b,c"), (fields{"a", "b,c"}));
}

TEST(csv, says_which_field_is_wrong) {
    EXPECT_EQ(error_of("a,\"b"), "coflux: field 2: its quote never closes");
    EXPECT_EQ(error_of("\""), "coflux: field 1: its quote never closes");
    EXPECT_EQ(error_of("\"a\"\""), "coflux: field 1: its quote never closes");
    EXPECT_EQ(error_of("\"a\nb\",\"c"), "coflux: field 2: its quote, in line 2 of the record, never closes");
    EXPECT_EQ(error_of("\"a\"b,c"), "coflux: field 1: something is between its closing quote and the separator");
    EXPECT_EQ(error_of("a,b\"c"), "coflux: field 2: it has a quote, and does not begin with one");
}

TEST(csv, reads_what_it_has_written) {
    const std::vector<fields> all{
        {""}, {"", ""}, {"a", "b"}, {"a,b", "\"", "\n", "\r", " ", ""}, {"say \"x\"", "\"\""}};
    for (const fields& each : all) {
        EXPECT_EQ(stream::csv_fields()(stream::csv_line(each)), each) << stream::csv_line(each);
        EXPECT_EQ(stream::csv_fields(';')(stream::csv_line(each, ';')), each);
    }
    EXPECT_EQ(stream::csv_line(fields{"a", "b,c"}), "a,\"b,c\"");
    EXPECT_EQ(stream::csv_line(fields{""}), "\"\"");
}

}  // namespace
