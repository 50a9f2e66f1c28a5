// The timing wheel against a std::multimap: seeded sequences of everything that can be done to it, from callbacks as
// well.
#include <coflux/time/detail/timing_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <support/iterations.hpp>
#include <support/timing_wheel_model.hpp>

namespace {

using coflux::detail::timer_node;
using coflux::detail::timing_wheel;
using coflux_test::numbered_timer;
using coflux_test::timing_wheel_model;

constexpr std::uint64_t never = timing_wheel::never;

class comparison {
public:
    comparison(std::uint64_t seed, std::uint64_t start, std::size_t timers, bool cancels)
        : random_(seed),
          wheel_(start),
          model_(timers, start),
          nodes_(timers),
          cancels_(cancels) {
        for (std::size_t i = 0; i < timers; ++i) nodes_[i].number = i;
    }
    ~comparison() {
        for (numbered_timer& node : nodes_) wheel_.cancel(node);
    }

    void step() {
        switch (below(8)) {
        case 0:
        case 1:
        case 2: insert(any()); break;
        case 3: cancel(any()); break;
        case 4: advance(model_.next_deadline() == never ? some_time() : wheel_.next_deadline()); break;
        case 5: portions(some_time()); break;
        default: advance(some_time()); break;
        }
        compare();
    }

private:
    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    numbered_timer& any() { return nodes_[below(nodes_.size())]; }

    /// A time in the past, soon, at or next to where a digit is carried, far away, or one that was used before.
    std::uint64_t some_time() {
        const std::uint64_t now = model_.now();
        const std::uint64_t room = never - now;
        switch (below(8)) {
        case 0: return now - std::min(now, below(100));
        case 1:
        case 2: return now + std::min(room, below(200));
        case 3:
        case 4: {
            const unsigned shift = 6 * static_cast<unsigned>(below(11));
            const std::uint64_t carry = ((now >> shift) + 1 + below(3)) << shift;
            return carry - 2 + below(5);  // may go round, and then is in the past or far away
        }
        case 5: return now + std::min(room, random_() >> below(64));
        case 6: return below(500) == 0 ? never : now + std::min(room, random_() >> (20 + below(44)));
        default: return last_;
        }
    }

    void insert(numbered_timer& node) {
        if (node.armed()) return;
        last_ = some_time();
        wheel_.insert(node, last_);
        model_.insert(node.number, last_);
    }
    void cancel(numbered_timer& node) {
        if (!cancels_) return;
        EXPECT_EQ(wheel_.cancel(node), model_.cancel(node.number));
    }
    void handed_out(timer_node& timer) {
        auto& node = static_cast<numbered_timer&>(timer);
        EXPECT_EQ(node.number, model_.take());
        EXPECT_LE(node.deadline(), wheel_.now());
        compare();
        for (std::uint64_t more = below(4); more > 0; --more) {
            if (below(2) == 0) {
                insert(below(3) == 0 ? node : any());
            } else {
                cancel(any());
            }
            compare();
        }
    }
    void advance(std::uint64_t now) {
        model_.expire(now);
        wheel_.advance(now, [this](timer_node& timer) noexcept { handed_out(timer); });
        EXPECT_EQ(model_.take(), nodes_.size()) << "not handed out";
    }
    void portions(std::uint64_t now) {
        model_.expire(now);
        wheel_.expire(now);
        for (std::uint64_t count = below(8); count > 0; --count) {
            timer_node* const timer = wheel_.take();
            if (timer == nullptr) {
                EXPECT_EQ(model_.take(), nodes_.size()) << "not handed out";
                return;
            }
            handed_out(*timer);
        }
    }
    void compare() {
        ASSERT_EQ(wheel_.now(), model_.now());
        ASSERT_EQ(wheel_.empty(), model_.empty());
        const std::uint64_t bound = wheel_.next_deadline();
        const std::uint64_t next = model_.next_deadline();
        ASSERT_GE(bound, wheel_.now());
        if (!cancels_ || next <= wheel_.now()) {
            ASSERT_EQ(bound, next);
        } else {
            // Early at most by what the slot of the earliest is wide.
            const auto level = static_cast<unsigned>(std::bit_width(next ^ wheel_.now()) - 1) / 6;
            ASSERT_LE(bound, next);
            ASSERT_EQ(bound >> (6 * level), next >> (6 * level));
        }
        const numbered_timer& node = any();
        ASSERT_EQ(node.armed(), model_.armed(node.number));
    }

    std::mt19937_64 random_;
    timing_wheel wheel_;
    timing_wheel_model model_;
    std::vector<numbered_timer> nodes_;
    std::uint64_t last_ = 0;
    const bool cancels_;
};

/// Runs start at zero, where a digit of each level is about to be carried, anywhere, and at the end of time.
void compare_many(bool cancels) {
    const std::size_t seeds = std::max<std::size_t>(coflux_test::repetitions(3000), 200);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        std::mt19937_64 random(seed ^ 0x5eed);
        std::uint64_t start = 0;
        switch (seed % 4) {
        case 0: start = random() % 3; break;
        case 1: start = (std::uint64_t{1} << (6 * (seed / 4 % 11))) - random() % 100; break;
        case 2: start = random() >> random() % 64; break;
        default: start = never - (random() >> (seed / 4 % 64)); break;
        }
        comparison run(seed, start, seed % 3 == 0 ? 8 : 100, cancels);
        for (int i = 0; i < 400; ++i) {
            run.step();
            ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", step " << i;
        }
    }
}

TEST(timing_wheel_model, does_what_a_multimap_does_with_an_exact_next_deadline_while_nothing_is_cancelled) {
    compare_many(false);
}

TEST(timing_wheel_model, does_what_a_multimap_does_when_timers_are_cancelled) {
    compare_many(true);
}

}  // namespace
