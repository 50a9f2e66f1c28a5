// Texts become values, and say where they cannot.
#include <coflux/stream/parse.hpp>

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "support/temporary_folder.hpp"

namespace {

namespace stream = coflux::stream;
using coflux::environment;
using pool = coflux::thread_pool_executor;

int number_of(std::string_view text) {
    int n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size()) throw std::invalid_argument("it is no number");
    return n;
}

coflux::task<std::vector<int>, pool> numbers(environment&, std::string path, bool skips, std::uint64_t* skipped) {
    auto& here = co_await coflux::context();
    stream::line_source source(std::move(path));
    stream::memory_sink<int> sink;
    if (skips) {
        const auto report =
            co_await stream::run(here, stream::from(source) | stream::parse(number_of) | stream::to(sink),
                                 stream::job{.on_error = stream::skip_record()});
        *skipped = report.skipped;
    } else {
        (void)co_await stream::run(here, stream::from(source) | stream::parse(number_of) | stream::to(sink));
    }
    co_return sink.values();
}

TEST(parse, fails_for_one_record_and_names_its_file_and_line) {
    const coflux_test::temporary_folder folder;
    const std::string path = folder.file("numbers", "1\n2\nx\n4\n");
    pool on{2};
    auto env = coflux::make_environment(on);
    std::uint64_t skipped = 0;
    EXPECT_EQ(numbers(env, path, true, &skipped).get(), (std::vector<int>{1, 2, 4}));
    EXPECT_EQ(skipped, 1U);
    try {
        (void)numbers(env, path, false, nullptr).get();
        ADD_FAILURE() << "no error";
    } catch (const stream::bad_text& e) {
        EXPECT_EQ(e.what(), "coflux: " + path + ", line 3: it is no number");
        EXPECT_EQ(e.file(), path);
        EXPECT_EQ(e.line(), 3U);
    }
}

coflux::task<std::vector<int>, pool> of_strings(environment&) {
    auto& here = co_await coflux::context();
    stream::memory_sink<int> sink;
    (void)co_await stream::run(here, stream::from(stream::memory_source(std::vector<std::string>{"7", "8"})) |
                                         stream::parse(number_of) | stream::to(sink));
    co_return sink.values();
}
TEST(parse, takes_strings_too) {
    pool on{2};
    auto env = coflux::make_environment(on);
    EXPECT_EQ(of_strings(env).get(), (std::vector<int>{7, 8}));
}

TEST(parse, knows_utf8) {
    const auto all = [](std::string_view text) { return stream::end_of_utf8(text) == text.size(); };
    for (const std::string_view good :
         {"", "abc", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf",
          "\xf0\x90\x80\x80", "\xc2\x80", "\xe0\xa0\x80"}) {
        EXPECT_TRUE(all(good)) << good;
    }
    for (const std::string_view bad :
         {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3(", "\xe2(\xac", "\xe2\x82(",
          "\xf0\x9f\x98("}) {
        EXPECT_EQ(stream::end_of_utf8(bad), 0U) << bad;
    }
    EXPECT_EQ(stream::end_of_utf8("ab\xff"), 2U);
    EXPECT_EQ(stream::utf8()("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    try {
        (void)stream::utf8()("ab\xff");
        ADD_FAILURE() << "no error";
    } catch (const stream::bad_text& e) {
        EXPECT_EQ(e.what(), std::string("coflux: byte 2 is not UTF-8"));
    }
}

}  // namespace
