#include <coflux/coflux.hpp>
#include <coflux/stream/progress.hpp>
#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "in_simulation.hpp"
#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using stream::progress;
using stream::to_text;
using stream_test::in_simulation;

TEST(progress, is_a_line_of_what_is_known) {
    EXPECT_EQ(to_text({}), "0 records, 0/s");
    EXPECT_EQ(to_text({.records = 7, .rate = 0.25}), "7 records, 0.2/s");
    EXPECT_EQ(to_text({.records = 9'999, .rate = 9.96}), "9999 records, 10/s");
    EXPECT_EQ(to_text({.records = 10'000, .rate = 1'234.5}), "10.0 k records, 1234/s");
    EXPECT_EQ(to_text({.records = 999'499, .rate = 99'949}), "999 k records, 99.9 k/s");
    EXPECT_EQ(to_text({.records = 999'500, .rate = 1e6, .lag = 0}), "1.00 M records, 1.00 M/s, lag 0");
    EXPECT_EQ(to_text({.records = 12'345'678'901, .lag = UINT64_MAX}), "12.3 G records, 0/s, lag 18447 P");
}

TEST(progress, tells_the_watermark_in_utc) {
    const auto noon = std::chrono::sys_days(std::chrono::year(2026) / 11 / 29) + 12h + 5s;
    EXPECT_EQ(to_text({.watermark = noon + 999ms}), "0 records, 0/s, watermark 2026-11-29 12:00:05");
    EXPECT_EQ(to_text({.watermark = stream::event_time(-1ns)}), "0 records, 0/s, watermark 1969-12-31 23:59:59");
    EXPECT_EQ(to_text({.watermark = stream::end_of_time}), "0 records, 0/s, watermark at the end");
}

TEST(progress, tells_the_time_that_is_left_and_what_went_wrong) {
    EXPECT_EQ(to_text({.left = 0s}), "0 records, 0/s, 0:00 left");
    EXPECT_EQ(to_text({.left = 65s}), "0 records, 0/s, 1:05 left");
    EXPECT_EQ(to_text({.left = 3h + 2min + 1s}), "0 records, 0/s, 3:02:01 left");
    EXPECT_EQ(to_text({.left = 49h}), "0 records, 0/s, 2 days left");
    EXPECT_EQ(to_text({.failed = 4, .skipped = 3, .dead = 2, .late = 10'000}),
              "0 records, 0/s, 4 failed, 3 skipped, 2 dead, 10.0 k late");
}

TEST(progress, fits_a_terminal) {
    using stream::detail::line_for_terminal;
    EXPECT_EQ(line_for_terminal("0123456789", 80), "\r0123456789\x1b[K");
    EXPECT_EQ(line_for_terminal("0123456789", 10), "\r012345678\x1b[K");
    EXPECT_EQ(line_for_terminal("0123456789", 1), "\r\x1b[K");
}

TEST(progress, names_what_is_hot) {
    EXPECT_EQ(to_text({.late = 1, .hot = "key ann 63 %"}), "0 records, 0/s, 1 late, hot key ann 63 %");
    stream::job_snapshot s;
    s.partitions.resize(4);
    s.partitions[2].name = "orders-2";
    s.partitions[2].share = 0.499;
    stream::progress_meter meter;
    EXPECT_EQ(meter.see(s, {}).hot, "");
    s.partitions[2].share = 0.5;
    EXPECT_EQ(meter.see(s, {}).hot, "partition orders-2 50 %");
    s.hot_keys.push_back({"ann", 1, 0, 0.626});
    EXPECT_EQ(meter.see(s, {}).hot, "key ann 63 %");
}

stream::job_snapshot seen(std::uint64_t records, std::uint64_t lag, bool is_bounded = true) {
    stream::job_snapshot s;
    s.records = records;
    s.lag = lag;
    s.is_bounded = is_bounded;
    return s;
}

TEST(progress_meter, has_no_rate_at_first) {
    stream::progress_meter meter;
    const coflux::clock::time_point begin{};
    EXPECT_EQ(meter.see(seen(100, 900), begin), (progress{.records = 100, .lag = 900}));
    EXPECT_EQ(meter.see(seen(100, 900), begin), (progress{.records = 100, .lag = 900}));
}

TEST(progress_meter, tells_the_rate_and_what_is_left_of_the_last_ten) {
    stream::progress_meter meter;
    const coflux::clock::time_point begin{};
    (void)meter.see(seen(0, 1'000), begin);
    // Bytes are not records: the lag goes down by 20 a second, the records up by 10.
    EXPECT_EQ(meter.see(seen(10, 980), begin + 1s), (progress{.records = 10, .rate = 10, .lag = 980, .left = 49s}));
    // Then it is slow: after ten looks the fast second is forgotten.
    progress last;
    for (int i = 2; i != 13; ++i) {
        last = meter.see(seen(10 + static_cast<std::uint64_t>(i) - 1, 980 - 2 * (static_cast<std::uint64_t>(i) - 1)),
                         begin + std::chrono::seconds(i));
    }
    EXPECT_EQ(last, (progress{.records = 21, .rate = 1, .lag = 958, .left = 479s}));
}

TEST(progress_meter, does_not_guess) {
    stream::progress_meter meter;
    const coflux::clock::time_point begin{};
    (void)meter.see(seen(0, 10, false), begin);
    EXPECT_EQ(meter.see(seen(5, 5, false), begin + 1s).left, std::nullopt);  // it has no end
    EXPECT_EQ(meter.see(seen(6, 50), begin + 2s).left, std::nullopt);        // the end goes away
    EXPECT_EQ(meter.see(seen(1, 9), begin + 3s).rate, 0);                    // another run
}

std::string text_in(std::FILE* file) {
    std::rewind(file);
    std::string text;
    std::array<char, 4'096> part{};
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), file)) text.append(part.data(), n);
    return text;
}
struct closes {
    void operator()(std::FILE* f) const { (void)std::fclose(f); }
};

/// Gives one record each second.
struct second_source {
    using value_type = int;
    std::int64_t given = 0;

    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        if (given == 25) co_return false;
        co_await coflux::sleep_for(1s);
        const std::int64_t n = given++;
        into.push_back({static_cast<int>(n), stream::event_time(std::chrono::seconds(n)), n + 1, 0, 0, {}});
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "only"; }
    [[nodiscard]] std::vector<stream::partition_extent> measure() const { return {{0, given, 25}}; }
    [[nodiscard]] bool is_bounded() const { return true; }
};

TEST(show_progress, writes_a_line_each_time_until_the_job_ends) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        const std::unique_ptr<std::FILE, closes> file(std::tmpfile());
        second_source source;
        stream::memory_sink<int> sink;
        stream::job_control control;
        (void)co_await coflux::when_all(
            stream::run(here, stream::from(source) | stream::to(sink),
                        stream::job{.linger = 100ms, .control = &control}),
            stream::show_progress(here, control, {.name = "seconds", .to = file.get(), .every = 10'400ms}));
        EXPECT_EQ(text_in(file.get()), "seconds: 10 records, 0/s, lag 15, watermark 1970-01-01 00:00:09\n"
                                       "seconds: 20 records, 1.0/s, lag 5, watermark 1970-01-01 00:00:19, 0:05 left\n"
                                       "seconds: 25 records, 1.0/s, lag 0, watermark at the end, 0:00 left\n");
    });
}

TEST(show_progress, ends_with_a_job_that_fails) {
    in_simulation([](coflux::environment& here) -> coflux::call<void> {
        const std::unique_ptr<std::FILE, closes> file(std::tmpfile());
        stream_test::failing_source source;
        stream::memory_sink<stream_test::order> sink;
        stream::job_control control;
        EXPECT_THROW((void)co_await coflux::when_all(
                         stream::run(here, stream::from(source) | stream::to(sink), stream::job{.control = &control}),
                         stream::show_progress(here, control, {.to = file.get()})),
                     std::runtime_error);
        EXPECT_TRUE(text_in(file.get()).ends_with("\n"));
        // Options that are refused end it, too.
        stream::job_control other;
        EXPECT_THROW((void)co_await coflux::when_all(stream::run(here, stream::from(source) | stream::to(sink),
                                                                 stream::job{.max_batch = 0, .control = &other}),
                                                     stream::show_progress(here, other, {.to = file.get()})),
                     std::invalid_argument);
    });
}

}  // namespace
