#include <coflux/stream/window.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using coflux_test::drive;
using coflux_test::ms;
using namespace std::chrono_literals;
using stream::event_time;

using counted = stream::windowed<int, std::uint64_t>;
using collected = stream::windowed<int, std::vector<int>>;

TEST(window, gives_tumbling_ones_when_the_watermark_passes_their_ends) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count()));
    slot.process(1, ms(0), 5);
    slot.process(1, ms(9), 5);
    slot.process(2, ms(9), 5);
    slot.process(1, ms(10), 5);
    slot.advance(ms(9));
    EXPECT_TRUE(slot.outputs().empty());
    slot.advance(ms(10));
    EXPECT_EQ(slot.values(), (std::vector<counted>{{1, ms(0), ms(10), 2}, {2, ms(0), ms(10), 1}}));
    EXPECT_EQ(slot.outputs()[0].time, ms(10) - 1ns);
    slot.advance(stream::end_of_time);
    EXPECT_EQ(slot.values().back(), (counted{1, ms(10), ms(20), 1}));
}

TEST(window, is_floored_before_the_epoch) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count()));
    slot.process(1, ms(-1), 5);
    slot.process(1, ms(-10), 5);
    slot.process(1, ms(-11), 5);
    slot.process(1, ms(0), 5);
    slot.advance(stream::end_of_time);
    EXPECT_EQ(slot.values(),
              (std::vector<counted>{{1, ms(-20), ms(-10), 1}, {1, ms(-10), ms(0), 2}, {1, ms(0), ms(10), 1}}));
}

TEST(window, saturates_at_both_ends_of_time) {
    const event_time first = stream::no_time + 1ns;
    const event_time last = stream::end_of_time;
    const auto check = [&](auto spec) {
        auto slot = drive<int, int>(stream::window(spec, stream::count()));
        slot.process(1, first, 5);
        slot.process(1, last, 5);
        slot.process(1, last - 1ns, 5);
        slot.process(1, first + 1ns, 5);
        slot.advance(first + 5ns);
        slot.restart();
        slot.advance(last - 1ns);
        slot.advance(last);
        std::uint64_t least = 0;
        for (const auto& out : slot.values()) {
            EXPECT_LE(out.begin, out.end);
            EXPECT_TRUE(out.begin <= first + 1ns || out.end >= last - 1ns);
            least += out.value;
        }
        EXPECT_GE(least, 4U);
        EXPECT_EQ(slot.late(), 0U);
    };
    check(stream::tumbling(1ns));
    check(stream::tumbling(1h));
    check(stream::tumbling(event_time::duration::max()));
    check(stream::sliding(7ns, 1ns));
    check(stream::sliding(7ns, 3ns));
    check(stream::sliding(event_time::duration::max(), event_time::duration::max() / 3));
    check(stream::session(1ns));
    check(stream::session(1h));
}

TEST(window, refuses_a_record_without_a_time) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count()));
    EXPECT_THROW(slot.process(1, stream::no_time, 5), std::invalid_argument);
    auto sessions = drive<int, int>(stream::window(stream::session(10ms), stream::count()));
    EXPECT_THROW(sessions.process(1, stream::no_time, 5), std::invalid_argument);
}

TEST(window, refuses_sizes_that_cannot_be) {
    EXPECT_THROW((void)stream::tumbling(0ms), std::invalid_argument);
    EXPECT_THROW((void)stream::sliding(10ms, 0ms), std::invalid_argument);
    EXPECT_THROW((void)stream::sliding(10ms, 11ms), std::invalid_argument);
    EXPECT_THROW((void)stream::session(0ms), std::invalid_argument);
    EXPECT_THROW((void)stream::by_count(0), std::invalid_argument);
    const auto early = stream::window_options{.emit = stream::emit_early{0ms}};
    EXPECT_THROW((void)stream::window(stream::tumbling(1ms), stream::count(), early), std::invalid_argument);
    const auto kept = stream::window_options{.late = stream::accept_late{-1ms}};
    EXPECT_THROW((void)stream::window(stream::tumbling(1ms), stream::count(), kept), std::invalid_argument);
}

TEST(window, refuses_the_state_of_another) {
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    out(std::int64_t{1'000'000}, std::int64_t{5}, std::int64_t{1}, ms(0), std::uint64_t{0});
    auto op = stream::window(stream::tumbling(10ms), stream::count())
                  .bind<int, int>(coflux_test::collector<counted>{nullptr});
    stream::state_reader in(bytes);
    EXPECT_THROW(op.load(in), stream::corrupt_state);
}

/// A value that has come, and the watermark before it.
struct arrival {
    int key;
    std::int64_t time;  // ms
    int value;
    std::int64_t watermark;
};

// Times go forward, with up to `disorder` of a step back. Now and then the watermark follows, `lateness` behind.
template <typename Slot>
std::vector<arrival> feed(Slot& slot, std::uint32_t seed, std::int64_t disorder, std::int64_t lateness, bool restarts) {
    std::minstd_rand random(seed);
    std::vector<arrival> all;
    std::int64_t now = -200 - static_cast<std::int64_t>(random() % 50);
    std::int64_t latest = now;
    std::int64_t watermark = INT64_MIN;
    for (int i = 0; i != 300; ++i) {
        now += static_cast<std::int64_t>(random() % (random() % 50 == 0 ? 200 : 4));
        const std::int64_t time = now - static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(disorder + 1));
        latest = std::max(latest, time);
        all.push_back({static_cast<int>(random() % 4), time, i, watermark});
        slot.process(all.back().key, ms(time), i);
        if (random() % 8 == 0 && latest - lateness > watermark) {
            watermark = latest - lateness;
            slot.advance(ms(watermark));
        }
        if (restarts && random() % 50 == 0) slot.restart();
    }
    slot.advance(stream::end_of_time);
    return all;
}

using window_key = std::pair<int, std::int64_t>;  // key and begin
using window_values = std::map<window_key, std::vector<int>>;

// The values of each window, by definition: of those that it still takes when they come.
window_values expected_of(const std::vector<arrival>& all, std::int64_t size, std::int64_t slide, std::int64_t kept) {
    window_values windows;
    for (const arrival& a : all) {
        for (std::int64_t begin = (a.time - size) / slide * slide - slide; begin <= a.time; begin += slide) {
            if (a.time >= begin + size || begin + size + kept <= a.watermark) continue;
            windows[{a.key, begin}].push_back(a.value);
        }
    }
    return windows;
}

std::int64_t count_ms(event_time t) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

// The last result of each window.
template <typename Slot>
window_values last_of(const Slot& slot) {
    window_values windows;
    for (auto out : slot.values()) {
        std::ranges::sort(out.value);
        windows[{out.key, count_ms(out.begin)}] = out.value;
    }
    return windows;
}

template <typename Slot>
void expect_final_order(const Slot& slot) {
    std::map<int, event_time> last;
    for (const auto& out : slot.values()) {
        const auto [at, is_first] = last.try_emplace(out.key, stream::no_time);
        EXPECT_LT(at->second, out.end);
        at->second = out.end;
    }
}

struct shape {
    std::int64_t size, slide;
};
const shape shapes[] = {{10, 10}, {10, 2}, {10, 3}, {12, 8}, {50, 1}, {7, 5}};

template <typename Options = stream::window_options<>>
auto of_shape(shape s, Options options = {}) {
    return stream::window(stream::sliding(s.size * 1ms, s.slide * 1ms), stream::collect(), options);
}

TEST(window, gives_what_the_model_gives) {
    for (const shape& s : shapes) {
        for (std::uint32_t seed = 1; seed != 16; ++seed) {
            auto slot = drive<int, int>(of_shape(s));
            const auto all = feed(slot, seed, 15, seed % 3 * 8, seed % 2 == 0);
            const window_values expected = expected_of(all, s.size, s.slide, 0);
            EXPECT_EQ(last_of(slot), expected) << s.size << " by " << s.slide << ", seed " << seed;
            EXPECT_EQ(slot.outputs().size(), expected.size());
            expect_final_order(slot);
        }
    }
}

TEST(window, counts_what_is_late_for_all_of_its_windows) {
    std::uint64_t sum = 0;
    for (const shape& s : shapes) {
        auto slot = drive<int, int>(of_shape(s));
        const auto all = feed(slot, 5, 40, 0, true);
        const auto late =
            std::ranges::count_if(all, [&](const arrival& a) { return expected_of({a}, s.size, s.slide, 0).empty(); });
        sum += static_cast<std::uint64_t>(late);
        EXPECT_EQ(slot.late(), static_cast<std::uint64_t>(late));
    }
    EXPECT_GT(sum, 0U);
}

TEST(window, of_a_new_slot_has_the_watermark_of_its_worker) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count()));
    slot.advance(ms(25));
    slot.restart();
    slot.advance(ms(25));
    slot.process(1, ms(5), 1);
    EXPECT_EQ(slot.late(), 1U);
}

// A slot that moves meets a worker whose watermark is ahead of it.
TEST(window, gives_the_windows_of_a_slot_that_has_moved) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count()));
    slot.process(1, ms(5), 1);
    slot.set_watermark(ms(15));
    slot.process(1, ms(16), 1);
    slot.advance(ms(20));
    EXPECT_EQ(slot.values(), (std::vector<counted>{{1, ms(0), ms(10), 1}, {1, ms(10), ms(20), 1}}));
}

TEST(window, gives_late_records_as_outputs) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count(),
                                               stream::window_options{.late = stream::late_records{}}));
    slot.process(1, ms(1), 5);
    slot.advance(ms(10));
    slot.process(1, ms(9), 6);
    using out = std::variant<counted, stream::late_record<int>>;
    EXPECT_EQ(slot.values(), (std::vector<out>{counted{1, ms(0), ms(10), 1}, stream::late_record<int>{6, ms(9)}}));
    EXPECT_EQ(slot.late(), 0U);
}

TEST(window, accepts_late_records_for_a_while) {
    constexpr auto options = stream::window_options{.late = stream::accept_late{15ms}};
    for (const shape& s : shapes) {
        for (std::uint32_t seed = 1; seed != 16; ++seed) {
            auto slot = drive<int, int>(of_shape(s, options));
            const auto all = feed(slot, seed, 40, 0, seed % 2 == 0);
            EXPECT_EQ(last_of(slot), expected_of(all, s.size, s.slide, 15))
                << s.size << " by " << s.slide << ", " << seed;
        }
    }
}

TEST(window, gives_the_new_result_of_a_window_that_a_late_record_changes) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count(),
                                               stream::window_options{.late = stream::accept_late{5ms}}));
    slot.process(1, ms(1), 5);
    slot.advance(ms(14));
    slot.process(1, ms(9), 5);
    slot.process(2, ms(9), 5);
    slot.advance(ms(15));
    slot.process(1, ms(9), 5);
    EXPECT_EQ(slot.values(),
              (std::vector<counted>{{1, ms(0), ms(10), 1}, {1, ms(0), ms(10), 2}, {2, ms(0), ms(10), 1}}));
    EXPECT_EQ(slot.late(), 1U);
}

TEST(window, gives_each_change) {
    constexpr auto options = stream::window_options{.emit = stream::emit_changes{}};
    for (const shape& s : shapes) {
        for (std::uint32_t seed = 1; seed != 11; ++seed) {
            auto slot = drive<int, int>(of_shape(s, options));
            const auto all = feed(slot, seed, 15, 8, seed % 2 == 0);
            const window_values expected = expected_of(all, s.size, s.slide, 0);
            EXPECT_EQ(last_of(slot), expected) << s.size << " by " << s.slide << ", seed " << seed;
            std::size_t changes = 0;
            for (const auto& [window, values] : expected) changes += values.size();
            EXPECT_EQ(slot.outputs().size(), changes);
        }
    }
}

TEST(window, gives_results_early_and_at_the_end) {
    auto slot = drive<int, int>(stream::window(stream::tumbling(10ms), stream::count(),
                                               stream::window_options{.emit = stream::emit_early{2ms}}));
    slot.advance(ms(0));
    slot.process(1, ms(0), 5);
    slot.advance(ms(1));
    EXPECT_TRUE(slot.outputs().empty());
    slot.process(2, ms(0) + 1ns, 5);
    slot.advance(ms(2));
    slot.process(1, ms(3), 5);
    slot.restart();
    slot.advance(ms(5));
    slot.advance(ms(8));
    slot.advance(ms(10));
    EXPECT_EQ(slot.values(), (std::vector<counted>{{1, ms(0), ms(10), 1},
                                                   {2, ms(0), ms(10), 1},
                                                   {1, ms(0), ms(10), 2},
                                                   {1, ms(0), ms(10), 2},
                                                   {2, ms(0), ms(10), 1}}));
    constexpr auto options = stream::window_options{.emit = stream::emit_early{3ms}};
    for (const shape& s : shapes) {
        for (std::uint32_t seed = 1; seed != 11; ++seed) {
            auto early = drive<int, int>(of_shape(s, options));
            const auto all = feed(early, seed, 15, 8, seed % 2 == 0);
            EXPECT_EQ(last_of(early), expected_of(all, s.size, s.slide, 0))
                << s.size << ", " << s.slide << ", " << seed;
        }
    }
}

TEST(window, gives_what_comes_behind_the_end_of_a_source_in_windows_that_were_given) {
    for (const auto& [size, slide] : {std::pair{10ns, 5ns}, std::pair{55ns, 53ns}}) {
        for (const event_time time : {ms(12), stream::end_of_time}) {
            auto slot = drive<int, int>(stream::window(stream::sliding(size, slide), stream::count()));
            slot.process(1, time, 0);
            slot.advance(stream::end_of_time);
            const std::size_t before = slot.values().size();
            slot.process(1, time, 0);
            slot.advance(stream::end_of_time);
            EXPECT_EQ(slot.values().size(), 2 * before) << size.count();
        }
    }
}

TEST(window, has_sessions_that_go_on_up_to_the_end_of_time) {
    for (const auto& order : {std::vector{2, 1, 0}, std::vector{0, 1, 2}, std::vector{0, 0, 5}}) {
        auto slot = drive<int, int>(stream::window(stream::session(10ns), stream::count()));
        for (const int before : order) slot.process(1, stream::end_of_time - before * 1ns, 5);
        slot.advance(stream::end_of_time);
        ASSERT_EQ(slot.values().size(), 1U);
        EXPECT_EQ(slot.values()[0].value, 3U);
    }
    auto apart = drive<int, int>(stream::window(stream::session(10ns), stream::count()));
    apart.process(1, stream::end_of_time - 10ns, 5);
    apart.process(1, stream::end_of_time, 5);
    apart.advance(stream::end_of_time);
    EXPECT_EQ(apart.values().size(), 2U);
}

TEST(window, begins_a_session_for_a_stored_key_that_has_none) {
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    out(stream::event_time::duration(10ms), ms(0));
    out.size(1);
    out(1);
    out.size(0);
    auto slot = drive<int, int>(stream::window(stream::session(10ms), stream::count()));
    slot.load(bytes);
    slot.process(1, ms(5), 7);
    slot.advance(ms(15));
    EXPECT_EQ(slot.values(), (std::vector<counted>{{1, ms(5), ms(15), 1}}));
}

// The sessions of each key: its values in the order of time, divided where `gap` is between two.
window_values sessions_of(const std::vector<arrival>& all, std::int64_t gap) {
    std::map<int, std::vector<std::pair<std::int64_t, int>>> by_key;
    for (const arrival& a : all) by_key[a.key].push_back({a.time, a.value});
    window_values sessions;
    for (auto& [key, values] : by_key) {
        std::ranges::sort(values);
        std::int64_t begin = 0;
        std::int64_t last = INT64_MIN / 2;
        for (const auto& [time, value] : values) {
            if (time - last >= gap) begin = time;
            last = time;
            sessions[{key, begin}].push_back(value);
        }
    }
    for (auto& [key, values] : sessions) std::ranges::sort(values);
    return sessions;
}

TEST(window, gives_the_sessions_of_the_model) {
    for (const std::int64_t gap : {1, 3, 10, 40}) {
        for (std::uint32_t seed = 1; seed != 16; ++seed) {
            auto slot = drive<int, int>(stream::window(stream::session(gap * 1ms), stream::collect()));
            const auto all = feed(slot, seed, 15, 15, seed % 2 == 0);
            const window_values expected = sessions_of(all, gap);
            EXPECT_EQ(last_of(slot), expected) << gap << ", seed " << seed;
            EXPECT_EQ(slot.outputs().size(), expected.size());
            EXPECT_EQ(slot.late(), 0U);
            expect_final_order(slot);
        }
    }
}

TEST(window, joins_sessions_that_a_value_connects) {
    auto slot = drive<int, int>(stream::window(stream::session(10ms), stream::collect(),
                                               stream::window_options{.emit = stream::emit_changes{}}));
    slot.process(1, ms(0), 1);
    slot.process(1, ms(15), 2);
    slot.process(1, ms(9), 3);
    slot.advance(ms(25));
    slot.process(1, ms(14), 4);
    EXPECT_EQ(slot.values(), (std::vector<collected>{
                                 {1, ms(0), ms(10), {1}}, {1, ms(15), ms(25), {2}}, {1, ms(0), ms(25), {1, 3, 2}}}));
    EXPECT_EQ(slot.late(), 1U);
}

TEST(window, lets_a_late_record_go_on_with_a_session_that_is_kept) {
    auto slot = drive<int, int>(stream::window(stream::session(10ms), stream::collect(),
                                               stream::window_options{.late = stream::accept_late{20ms}}));
    slot.process(1, ms(0), 1);
    slot.advance(ms(12));
    slot.process(1, ms(1), 2);  // ends at 11: given again at once
    slot.process(1, ms(5), 3);  // open again until 15
    slot.restart();
    slot.advance(ms(15));
    slot.advance(ms(34));
    slot.process(1, ms(4), 4);
    slot.advance(ms(35));
    slot.process(1, ms(4), 5);
    EXPECT_EQ(slot.values(), (std::vector<collected>{{1, ms(0), ms(10), {1}},
                                                     {1, ms(0), ms(11), {1, 2}},
                                                     {1, ms(0), ms(15), {1, 2, 3}},
                                                     {1, ms(0), ms(15), {1, 2, 3, 4}}}));
    EXPECT_EQ(slot.late(), 1U);
}

TEST(window, gives_sessions_early) {
    auto slot = drive<int, int>(stream::window(stream::session(10ms), stream::count(),
                                               stream::window_options{.emit = stream::emit_early{5ms}}));
    slot.process(1, ms(0), 1);
    slot.advance(ms(6));
    slot.process(1, ms(7), 1);
    slot.advance(ms(10));
    slot.advance(ms(15));
    slot.advance(ms(17));
    EXPECT_EQ(slot.values(),
              (std::vector<counted>{{1, ms(0), ms(10), 1}, {1, ms(0), ms(17), 2}, {1, ms(0), ms(17), 2}}));
}

TEST(window, gives_a_result_for_each_number_of_values) {
    auto slot = drive<int, int>(stream::window(stream::by_count(2), stream::collect()));
    slot.process(1, ms(3), 1);
    slot.process(2, ms(3), 2);
    slot.restart();
    slot.process(1, ms(1), 3);
    slot.process(1, ms(4), 4);
    slot.advance(ms(100));
    EXPECT_EQ(slot.values(), (std::vector<collected>{{1, ms(1), ms(3) + 1ns, {1, 3}}}));
    slot.advance(stream::end_of_time);
    EXPECT_EQ(slot.values().size(), 3U);
    EXPECT_EQ(slot.values()[1], (collected{1, ms(4), ms(4) + 1ns, {4}}));
    EXPECT_EQ(slot.values()[2], (collected{2, ms(3), ms(3) + 1ns, {2}}));
}

TEST(window, gives_one_of_all_time_at_the_end) {
    auto slot = drive<int, int>(stream::window(stream::all_time(), stream::count()));
    slot.process(1, stream::no_time, 1);
    slot.process(1, stream::no_time, 1);
    slot.advance(stream::end_of_time);
    ASSERT_EQ(slot.values().size(), 1U);
    EXPECT_EQ(slot.values()[0].value, 2U);
}

TEST(window, leaves_no_trace_of_a_value_that_its_aggregate_refuses) {
    const auto at_least_zero = [](int v) { return v < 0 ? throw std::runtime_error("negative") : v; };
    const auto check = [&](auto spec) {
        auto slot = drive<int, int>(stream::window(spec, stream::min(at_least_zero)));
        EXPECT_THROW(slot.process(1, ms(1), -1), std::runtime_error);
        EXPECT_FALSE(slot.touched());
        slot.process(2, ms(1), 3);
        EXPECT_TRUE(slot.touched());
        EXPECT_THROW(slot.process(2, ms(1), -1), std::runtime_error);
        slot.advance(stream::end_of_time);
        ASSERT_EQ(slot.values().size(), 1U);
        EXPECT_EQ(slot.values()[0].value, 3);
    };
    check(stream::tumbling(10ms));
    check(stream::session(10ms));
    check(stream::by_count(10));
}

TEST(window, stands_behind_another) {
    // The most of the counts of each window, with those that tie.
    auto slot = drive<int, int>(
        stream::window(stream::sliding(10ms, 5ms), stream::count()),
        stream::window(stream::tumbling(5ms), stream::top(1, [](const counted& c) { return c.value; })));
    slot.process(1, ms(1), 0);
    slot.process(1, ms(6), 0);
    slot.advance(ms(5));
    slot.advance(ms(30));
    const auto all = slot.values();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].end, ms(5));
    EXPECT_EQ(all[1].value, (std::vector<counted>{{1, ms(0), ms(10), 2}}));
    EXPECT_EQ(all[2].value, (std::vector<counted>{{1, ms(5), ms(15), 1}}));
}

}  // namespace
