#include <coflux/stream/timed_fold.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <coflux/stream/aggregate.hpp>

#include "slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using coflux_test::drive;
using coflux_test::ms;
using stream::key_timer;

struct tally {
    std::int64_t values = 0;
    template <typename A>
    void fields(A& all) {
        all(values);
    }
};

/// A value that sets or cancels the timer of its key.
struct command {
    enum what : std::uint8_t { set, cancel, forget, fail } say;
    stream::event_time when{};
};
using key = int;
/// A key, and how many values it has had when its timer fires.
using fired = std::pair<stream::event_time, std::int64_t>;

constexpr auto on_value = [](tally& t, const command& c, key_timer& timer, const auto&) {
    if (c.say == command::set) timer.set(c.when);
    if (c.say == command::cancel) timer.cancel();
    if (c.say == command::forget) timer.forget();
    if (c.say == command::fail) {
        timer.cancel();
        throw std::runtime_error("refused");
    }
    ++t.values;
};
constexpr auto on_timer = [](tally& t, key_timer&, const auto& emit) { emit(t.values); };

auto alarms() {
    return drive<command, key>(stream::timed_fold<tally, std::int64_t>(on_value, on_timer));
}
template <typename Driver>
std::vector<fired> all_of(const Driver& d) {
    std::vector<fired> all;
    for (const auto& each : d.outputs()) all.emplace_back(each.time, each.value);
    return all;
}
using all_fired = std::vector<fired>;

TEST(timed_fold, fires_once_when_the_watermark_is_there) {
    auto d = alarms();
    d.process(1, ms(0), {command::set, ms(10)});
    d.advance(ms(9));
    EXPECT_EQ(all_of(d), all_fired{});
    d.advance(ms(10));
    EXPECT_EQ(all_of(d), (all_fired{{ms(10), 1}}));
    d.advance(ms(50));
    d.advance(stream::end_of_time);
    EXPECT_EQ(all_of(d).size(), 1U);
}

TEST(timed_fold, fires_in_the_order_of_times) {
    auto d = alarms();
    for (const int k : {3, 1, 4, 2, 5}) d.process(k, ms(0), {command::set, ms(10 * k)});
    d.process(2, ms(0), {command::set, ms(20)});
    d.advance(ms(40));
    EXPECT_EQ(all_of(d), (all_fired{{ms(10), 1}, {ms(20), 2}, {ms(30), 1}, {ms(40), 1}}));
}

TEST(timed_fold, takes_the_time_that_was_set_last) {
    auto d = alarms();
    d.process(1, ms(0), {command::set, ms(10)});
    d.process(1, ms(0), {command::set, ms(30)});
    d.process(2, ms(0), {command::set, ms(30)});
    d.process(2, ms(0), {command::set, ms(10)});
    d.process(3, ms(0), {command::set, ms(10)});
    d.process(3, ms(0), {command::cancel});
    d.advance(ms(10));
    EXPECT_EQ(all_of(d), (all_fired{{ms(10), 2}}));
    d.advance(ms(30));
    EXPECT_EQ(all_of(d), (all_fired{{ms(10), 2}, {ms(30), 2}}));
    d.process(3, ms(31), {command::set, ms(40)});
    d.advance(ms(40));
    EXPECT_EQ(all_of(d).back(), (fired{ms(40), 3}));
}

TEST(timed_fold, fires_a_time_that_has_passed_with_the_next_watermark) {
    auto d = alarms();
    d.advance(ms(100));
    d.process(1, ms(100), {command::set, ms(50)});
    EXPECT_EQ(all_of(d), all_fired{});
    d.advance(ms(101));
    EXPECT_EQ(all_of(d), (all_fired{{ms(50), 1}}));
}

TEST(timed_fold, lets_a_timer_set_itself_again) {
    // In the past, so that each watermark fires it, and once only.
    auto d = drive<command, key>(
        stream::timed_fold<tally, std::int64_t>(on_value, [](tally& t, key_timer& timer, const auto& emit) {
            EXPECT_FALSE(timer.when().has_value());
            emit(++t.values);
            timer.set(timer.now());
        }));
    d.process(1, ms(0), {command::set, ms(10)});
    d.advance(ms(20));
    d.advance(ms(21));
    d.advance(stream::end_of_time);
    EXPECT_EQ(all_of(d), (all_fired{{ms(10), 2}, {ms(10), 3}, {ms(10), 4}}));
}

TEST(timed_fold, forgets_a_key_that_it_is_told_to) {
    auto d = alarms();
    d.process(1, ms(0), {command::set, ms(10)});
    d.process(1, ms(0), {command::forget});
    d.advance(ms(10));
    EXPECT_EQ(all_of(d), all_fired{});
    d.process(1, ms(10), {command::set, ms(20)});
    d.advance(ms(20));
    EXPECT_EQ(all_of(d), (all_fired{{ms(20), 1}}));
}

TEST(timed_fold, leaves_the_timer_as_it_was_where_a_value_fails) {
    auto d = alarms();
    d.process(1, ms(0), {command::set, ms(10)});
    EXPECT_THROW(d.process(1, ms(0), {command::fail}), std::runtime_error);
    EXPECT_FALSE(d.touched());
    EXPECT_THROW(d.process(2, ms(0), {command::fail}), std::runtime_error);
    d.advance(ms(10));
    EXPECT_EQ(all_of(d), (all_fired{{ms(10), 1}}));
}

TEST(timed_fold, keeps_its_timers_in_checkpoints) {
    auto d = alarms();
    d.process(1, ms(0), {command::set, ms(10)});
    d.process(2, ms(0), {command::set, ms(20)});
    d.process(3, ms(0), {command::set, ms(20)});
    d.process(3, ms(0), {command::cancel});
    d.advance(ms(10));
    d.restart();
    d.advance(ms(30));
    EXPECT_EQ(all_of(d), (all_fired{{ms(10), 1}, {ms(20), 1}}));
}

TEST(timed_fold, fires_all_timers_at_the_end_of_the_source) {
    auto d = alarms();
    d.process(1, ms(0), {command::set, ms(1'000)});
    d.process(2, ms(0), {command::set, ms(500)});
    d.process(3, ms(0), {command::set, ms(700)});
    d.process(3, ms(0), {command::cancel});
    d.advance(stream::end_of_time);
    EXPECT_EQ(all_of(d), (all_fired{{ms(500), 1}, {ms(1'000), 1}}));
    // A source that has grown is read on.
    d.process(1, ms(600), {command::set, ms(800)});
    d.advance(ms(900));
    EXPECT_EQ(all_of(d).back(), (fired{ms(800), 2}));
}

TEST(timed_fold, gives_what_stands_behind_the_key_and_the_time_of_a_timer) {
    auto d = drive<command, key>(stream::timed_fold<tally, std::int64_t>(on_value, on_timer), stream::count());
    d.process(7, ms(0), {command::set, ms(10)});
    d.process(8, ms(0), {command::set, ms(10)});
    d.process(7, ms(0), {command::set, ms(20)});
    d.advance(ms(15));
    d.advance(ms(20));
    ASSERT_EQ(d.outputs().size(), 2U);
    EXPECT_EQ(d.outputs()[0].value, (stream::keyed<key, std::uint64_t>{8, 1}));
    EXPECT_EQ(d.outputs()[1].value, (stream::keyed<key, std::uint64_t>{7, 1}));
    EXPECT_EQ(d.outputs()[1].time, ms(20));
}

}  // namespace
