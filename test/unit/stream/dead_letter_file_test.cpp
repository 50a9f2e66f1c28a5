// Dead letters as lines of JSON.
#include <coflux/stream/dead_letter_file.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "support/temporary_folder.hpp"

namespace {

namespace stream = coflux::stream;
using coflux::environment;
using pool = coflux::thread_pool_executor;

TEST(dead_letter_file, has_all_of_a_letter) {
    stream::dead_letter letter{"orders",
                               "region 1",
                               "it is \"no\" number\n",
                               3,
                               "in.txt",
                               17,
                               stream::event_time(std::chrono::nanoseconds(5)),
                               {"k", "a\tb", {{"trace", "7"}, {"raw", "\xff"}}}};
    EXPECT_EQ(stream::json_line(letter),
              R"({"job":"orders","stage":"region 1","error":"it is \"no\" number\u000a","attempts":3,)"
              R"("partition":"in.txt","next":17,"time":5,"headers":[["trace","7"],["raw",{"base64":"/w=="}]],)"
              R"("key":"k","value":"a\u0009b"})");
}

TEST(dead_letter_file, has_bytes_that_are_no_text_in_base64) {
    const auto line_of = [](std::string_view value) {
        stream::dead_letter letter;
        letter.original.value = value;
        const std::string line = stream::json_line(letter);
        return line.substr(line.find("\"key\":\"\",") + 9);
    };
    EXPECT_EQ(line_of("gr\xc3\xbc\xc3\x9f"), "\"value\":\"gr\xc3\xbc\xc3\x9f\"}");
    EXPECT_EQ(line_of("\xff"), R"("value_base64":"/w=="})");
    EXPECT_EQ(line_of("\xff\xfe"), R"("value_base64":"//4="})");
    EXPECT_EQ(line_of("\xff\xfe\xfd"), R"("value_base64":"//79"})");
    EXPECT_EQ(line_of(std::string_view("\xff\0ab", 4)), R"("value_base64":"/wBhYg=="})");
    stream::dead_letter letter;
    letter.error = "bad \xff\xff byte";
    EXPECT_NE(stream::json_line(letter).find(R"("error":"bad \ufffd\ufffd byte")"), std::string::npos);
    EXPECT_NE(stream::json_line(letter).find(R"("time":null)"), std::string::npos);
}

coflux::task<std::uint64_t, pool> sorts_out(environment&, std::string in, std::string dead) {
    auto& here = co_await coflux::context();
    stream::line_source source(std::move(in));
    stream::memory_sink<std::string> sink;
    stream::dead_letter_file dlq(std::move(dead));
    const auto report =
        co_await stream::run(here, stream::from(source) | stream::parse(stream::utf8()) | stream::to(sink),
                             stream::job{.name = "texts", .on_error = stream::dead_letters(dlq)});
    EXPECT_EQ(sink.values().size(), 2U);
    co_return report.dead;
}
TEST(dead_letter_file, keeps_the_bytes_that_a_job_could_not_process) {
    const coflux_test::temporary_folder folder;
    const std::string in = folder.file("in", "good\nb\xff"
                                             "d\ngood\n");
    pool on{2};
    auto env = coflux::make_environment(on);
    EXPECT_EQ(sorts_out(env, in, folder.path("dead")).get(), 1U);
    const std::string line = coflux_test::text_of(folder.path("dead"));
    EXPECT_EQ(line, R"({"job":"texts","stage":"region 1","error":"coflux: )" + in +
                        R"(, line 2: coflux: byte 1 is not UTF-8","attempts":1,"partition":")" + in +
                        R"(","next":9,"time":null,"headers":[],"key":"","value_base64":"Yv9k"})" + "\n");
}

}  // namespace
