// Windows and joins of stream jobs against models that count in 128 bits: at both ends of time, with sizes up to all of
// it, with watermarks, late records and restarts. The bytes choose the windows, and then what comes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/stream/event_times.hpp>
#include <coflux/stream/join.hpp>
#include <coflux/stream/window.hpp>

#include "fuzz/program.hpp"
#include "unit/stream/slot_driver.hpp"

namespace {

namespace stream = coflux::stream;
using coflux_fuzz::program;
using duration = stream::event_time::duration;
__extension__ typedef __int128 wide;

constexpr std::size_t most_steps = 64;
constexpr wide least_time = INT64_MIN;
constexpr wide most_time = INT64_MAX;

wide clamped(wide t) {
    return std::clamp(t, least_time, most_time);
}
std::int64_t saturated(wide t) {
    return static_cast<std::int64_t>(clamped(t));
}
wide floored(wide a, wide b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
stream::event_time time_of(wide t) {
    return stream::event_time(duration(static_cast<std::int64_t>(t)));
}
wide count_of(stream::event_time t) {
    return t.time_since_epoch().count();
}

/// Near one of the ends, near the epoch, or anywhere; not no_time.
wide any_time(program& p) {
    const std::size_t where = p.below(4);
    const auto by = static_cast<wide>(where == 3 ? p.number() : p.byte());
    if (where == 0) return least_time + 1 + by;
    if (where == 1) return most_time - by;
    return where == 2 ? by - 128 : std::max(least_time + 1, least_time + by);
}
/// From 1 on.
std::int64_t any_length(program& p) {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(1, p.number() & INT64_MAX));
}

/// A result: key, begin, end, how many.
using result = std::tuple<int, std::int64_t, std::int64_t, std::uint64_t>;
void compare(std::vector<result> got, std::vector<result> expected) {
    std::ranges::sort(got);
    std::ranges::sort(expected);
    COFLUX_VERIFY(got == expected, "%zu results, %zu of the model", got.size(), expected.size());
}

/// A model of windows: a value is late, or is counted; it says which results have ended.
class pane_model {
public:
    pane_model(wide size, wide slide) : size_(size), slide_(slide) {}

    bool add(int key, wide time, wide reached) {
        bool is_late = true;
        for (wide k = floored(time, slide_); k * slide_ + size_ > time; --k) {
            if (clamped(k * slide_ + size_) <= reached) break;
            is_late = false;
            ++counts_[{k, key}];
        }
        return !is_late;
    }
    std::vector<result> ended(wide watermark) {
        std::vector<result> all;
        std::erase_if(counts_, [&](const auto& each) {
            const auto& [at, n] = each;
            const wide begin = at.first * slide_;
            if (clamped(begin + size_) > watermark) return false;
            all.emplace_back(at.second, saturated(begin), saturated(begin + size_), n);
            return true;
        });
        return all;
    }

private:
    wide size_;
    wide slide_;
    std::map<std::pair<wide, int>, std::uint64_t> counts_;
};
class session_model {
public:
    explicit session_model(wide gap) : gap_(gap) {}

    bool add(int key, wide time, wide reached) {
        session made{key, time, time, 1};
        const std::size_t before = all_.size();
        std::erase_if(all_, [&](const session& s) {
            if (s.key != key || s.last + gap_ <= time || s.first >= time + gap_) return false;
            made = {key, std::min(made.first, s.first), std::max(made.last, s.last), made.count + s.count};
            return true;
        });
        if (all_.size() == before && clamped(time + gap_) <= reached) return false;
        all_.push_back(made);
        return true;
    }
    std::vector<result> ended(wide watermark) {
        std::vector<result> given;
        std::erase_if(all_, [&](const session& s) {
            if (clamped(s.last + gap_) > watermark) return false;
            given.emplace_back(s.key, saturated(s.first), saturated(s.last + gap_), s.count);
            return true;
        });
        return given;
    }

private:
    struct session {
        int key;
        wide first;
        wide last;
        std::uint64_t count;
    };
    wide gap_;
    std::vector<session> all_;
};

template <typename Stage, typename Model>
void run_windows(program& p, Stage stage, Model model) {
    auto slot = coflux_test::drive<int, int>(std::move(stage));
    std::vector<result> expected;
    std::uint64_t late = 0;
    wide reached = least_time;
    const auto advance = [&](wide watermark) {
        slot.advance(time_of(watermark));
        for (const result& each : model.ended(watermark)) expected.push_back(each);
        if (watermark != most_time) reached = std::max(reached, watermark);
        std::vector<result> got;
        for (const auto& r : slot.values())
            got.emplace_back(r.key, saturated(count_of(r.begin)), saturated(count_of(r.end)), r.value);
        compare(std::move(got), expected);
    };
    for (std::size_t step = 0; step != most_steps && !p.ended(); ++step) {
        const std::size_t what = p.below(8);
        if (what == 0) {
            slot.restart();
        } else if (what < 3) {
            advance(std::max(reached, any_time(p)));
        } else {
            const int key = static_cast<int>(p.below(2));
            const wide time = any_time(p);
            slot.process(key, time_of(time), 0);
            if (!model.add(key, time, reached)) ++late;
        }
        COFLUX_VERIFY(slot.late() == late, "%zu late", static_cast<std::size_t>(slot.late()));
    }
    advance(most_time);
}

using either = std::variant<int, int>;
struct half {
    int key;
    wide time;
    int number;
};
/// `meets(left, right)`: whether these times do.
template <typename Spec>
void run_join(program& p, Spec spec, const std::function<bool(wide, wide)>& meets) {
    auto slot =
        coflux_test::drive<either, int>(stream::join(spec, [](int left, int right) { return std::pair(left, right); }));
    std::vector<half> sides[2];
    std::vector<std::pair<int, int>> expected;
    wide reached = least_time;
    std::uint64_t late = 0;
    for (int step = 0; step != static_cast<int>(most_steps) && !p.ended(); ++step) {
        const std::size_t what = p.below(8);
        if (what == 0) {
            slot.restart();
        } else if (what == 1) {
            reached = std::max(reached, std::min(any_time(p), most_time - 1));
            slot.advance(time_of(reached));
        } else {
            const half now{static_cast<int>(p.below(2)), any_time(p), step};
            const std::size_t side = what & 1;
            slot.process(now.key, time_of(now.time),
                         side == 0 ? either(std::in_place_index<0>, step) : either(std::in_place_index<1>, step));
            if (now.time < reached) {
                ++late;
                continue;
            }
            for (const half& other : sides[1 - side]) {
                const half& left = side == 0 ? now : other;
                const half& right = side == 0 ? other : now;
                if (left.key == right.key && meets(left.time, right.time))
                    expected.emplace_back(left.number, right.number);
            }
            sides[side].push_back(now);
        }
        COFLUX_VERIFY(slot.late() == late, "%zu late", static_cast<std::size_t>(slot.late()));
    }
    std::vector<std::pair<int, int>> got = slot.values();
    std::ranges::sort(got);
    std::ranges::sort(expected);
    COFLUX_VERIFY(got == expected, "%zu pairs, %zu of the model", got.size(), expected.size());
}

void run_watermarks(program& p) {
    const auto lateness = static_cast<std::int64_t>(p.number() & INT64_MAX);
    stream::detail::watermarks marks{duration(lateness)};
    wide latest = least_time;
    wide before = least_time;
    for (std::size_t step = 0; step != most_steps && !p.ended(); ++step) {
        const wide time = any_time(p);
        latest = std::max(latest, time);
        marks.note(0, time_of(time));
        const wide now = count_of(marks.now());
        COFLUX_VERIFY(now == std::min(clamped(latest - lateness), most_time - 1), "the watermark");
        COFLUX_VERIFY(now >= before, "it has gone back");
        before = now;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    program p(bytes, size);
    switch (p.below(6)) {
    case 0: {
        const std::int64_t length = any_length(p);
        run_windows(p, stream::window(stream::tumbling(duration(length)), stream::count()), pane_model(length, length));
        break;
    }
    case 1: {
        // A window of few slides: each value is in all of them.
        const std::int64_t slide = any_length(p);
        const wide part = static_cast<wide>(p.number()) % slide;
        const std::int64_t length = saturated(wide(slide) * static_cast<wide>(1 + p.below(8)) + part);
        run_windows(p, stream::window(stream::sliding(duration(length), duration(slide)), stream::count()),
                    pane_model(length, slide));
        break;
    }
    case 2: {
        const std::int64_t gap = any_length(p);
        run_windows(p, stream::window(stream::session(duration(gap)), stream::count()), session_model(gap));
        break;
    }
    case 3: {
        const wide a = any_time(p);
        const wide b = any_time(p);
        const wide lower = std::min(a, b);
        const wide upper = std::max(a, b);
        run_join(p, stream::within(duration(saturated(lower)), duration(saturated(upper))),
                 [=](wide left, wide right) { return right - left >= lower && right - left <= upper; });
        break;
    }
    case 4: {
        const std::int64_t length = any_length(p);
        run_join(p, stream::tumbling(duration(length)),
                 [=](wide left, wide right) { return floored(left, length) == floored(right, length); });
        break;
    }
    default: run_watermarks(p);
    }
    return 0;
}
