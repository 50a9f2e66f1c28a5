// Values in JSON. Where nlohmann/json is not there, there is nothing to test.
#if __has_include(<nlohmann/json.hpp>)
#    include <coflux/stream/json.hpp>

#    include <gtest/gtest.h>

#    include <cstdint>
#    include <string>
#    include <utility>
#    include <vector>

#    include <coflux/coflux.hpp>
#    include <coflux/stream/stream.hpp>

#    include "support/temporary_folder.hpp"

namespace {

namespace stream = coflux::stream;
using coflux::environment;
using pool = coflux::thread_pool_executor;

struct order {
    std::string customer;
    std::int64_t amount = 0;
};
void from_json(const nlohmann::json& j, order& o) {
    j.at("customer").get_to(o.customer);
    j.at("amount").get_to(o.amount);
}
void to_json(nlohmann::json& j, const order& o) {
    j = {{"customer", o.customer}, {"amount", o.amount}};
}

coflux::task<stream::job_report, pool> doubles(environment&, std::string in, std::string out, std::string dead) {
    auto& here = co_await coflux::context();
    stream::dead_letter_file dlq(std::move(dead));
    co_return co_await stream::run(here,
                                   stream::from(stream::line_source(std::move(in))) |
                                       stream::parse(stream::json_to<order>()) | stream::map([](order o) {
                                           o.amount *= 2;
                                           return o;
                                       }) |
                                       stream::map(stream::to_json()) | stream::to(stream::line_sink(std::move(out))),
                                   stream::job{.on_error = stream::dead_letters(dlq)});
}
TEST(json, reads_and_writes_lines_and_gives_the_others_up) {
    const coflux_test::temporary_folder folder;
    const std::string in = folder.file("in", "{\"customer\":\"a\",\"amount\":1}\n"
                                             "{\"customer\":\"a\",\"amo\n"
                                             "\n"
                                             "{\"customer\":\"\xff\",\"amount\":1}\n"
                                             "{\"customer\":\"b\"}\n"
                                             "{\"customer\":\"c\",\"amount\":3}\n");
    pool on{2};
    auto env = coflux::make_environment(on);
    const auto report = doubles(env, in, folder.path("out"), folder.path("dead")).get();
    EXPECT_EQ(report.dead, 4U);
    EXPECT_EQ(coflux_test::text_of(folder.path("out")),
              "{\"amount\":2,\"customer\":\"a\"}\n{\"amount\":6,\"customer\":\"c\"}\n");
    const std::string dead = coflux_test::text_of(folder.path("dead"));
    for (const int line : {2, 3, 4, 5}) {
        EXPECT_NE(dead.find("coflux: " + in + ", line " + std::to_string(line) + ": "), std::string::npos) << line;
    }
    EXPECT_NE(dead.find(R"("value":"{\"customer\":\"a\",\"amo")"), std::string::npos);
}

TEST(json, is_no_way_to_use_up_the_stack) {
    const stream::json_to<nlohmann::json> parse;
    const auto nested = [](std::size_t n) { return std::string(n, '[') + "\"]{\\\"\"" + std::string(n, ']'); };
    EXPECT_EQ(parse(nested(512)).dump(), nested(512));
    for (const std::size_t n : {std::size_t{513}, std::size_t{500'000}}) {
        EXPECT_THROW((void)parse(nested(n)), stream::bad_text);
        EXPECT_THROW((void)parse(std::string(n, '[')), stream::bad_text);
    }
}

}  // namespace
#endif
