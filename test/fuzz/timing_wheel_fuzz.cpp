// The timing wheel against a std::multimap: arm, cancel, expire, take and the next deadline, also from inside
// callbacks.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/time/detail/timing_wheel.hpp>

#include "fuzz/program.hpp"
#include "support/timing_wheel_model.hpp"

namespace {

using coflux::detail::timer_node;
using coflux::detail::timing_wheel;
using coflux_test::numbered_timer;
using coflux_test::timing_wheel_model;

constexpr std::uint64_t never = timing_wheel::never;
constexpr std::size_t timers = 40;

class run {
public:
    run(coflux_fuzz::program& p, std::uint64_t start)
        : program_(p),
          wheel_(start),
          model_(timers, start),
          nodes_(timers) {
        for (std::size_t i = 0; i < timers; ++i) nodes_[i].number = i;
    }
    ~run() {
        for (numbered_timer& node : nodes_) wheel_.cancel(node);
        COFLUX_VERIFY(wheel_.empty(), "something is armed after all were cancelled");
    }

    void step() {
        switch (program_.below(8)) {
        case 0:
        case 1:
        case 2: insert(any()); break;
        case 3: cancel(any()); break;
        case 4: advance(wheel_.next_deadline() == never ? some_time() : wheel_.next_deadline()); break;
        case 5: portions(some_time()); break;
        default: advance(some_time()); break;
        }
        compare();
    }

private:
    numbered_timer& any() { return nodes_[program_.below(timers)]; }

    /// In the past, soon, next to where a digit is carried, anywhere, or one that was used before.
    std::uint64_t some_time() {
        const std::uint64_t now = model_.now();
        const std::uint64_t room = never - now;
        switch (program_.below(6)) {
        case 0: return now - std::min<std::uint64_t>(now, program_.byte());
        case 1: return now + std::min<std::uint64_t>(room, program_.byte());
        case 2: {
            const std::size_t shift = 6 * program_.below(11);
            const std::uint64_t carry = ((now >> shift) + 1 + program_.below(3)) << shift;
            return carry - 2 + program_.below(5);  // may go round, and then is in the past or far away
        }
        case 3: return now + std::min(room, program_.number());
        case 4: return program_.number();
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
        const bool was = model_.cancel(node.number);
        COFLUX_VERIFY(wheel_.cancel(node) == was, "cancel of timer %zu", node.number);
        cancelled_ = cancelled_ || was;
    }
    void handed_out(timer_node& timer) {
        auto& node = static_cast<numbered_timer&>(timer);
        const std::size_t expected = model_.take();
        COFLUX_VERIFY(node.number == expected, "timer %zu is handed out, %zu is due", node.number, expected);
        compare();
        for (std::size_t more = program_.below(4); more > 0; --more) {
            if (program_.coin()) {
                insert(program_.coin() ? node : any());
            } else {
                cancel(any());
            }
            compare();
        }
    }
    void advance(std::uint64_t now) {
        model_.expire(now);
        wheel_.advance(now, [this](timer_node& timer) noexcept { handed_out(timer); });
        COFLUX_VERIFY(model_.take() == timers, "something due was not handed out");
    }
    void portions(std::uint64_t now) {
        model_.expire(now);
        wheel_.expire(now);
        for (std::size_t count = program_.below(8); count > 0; --count) {
            timer_node* const timer = wheel_.take();
            if (timer == nullptr) {
                COFLUX_VERIFY(model_.take() == timers, "something due was not handed out");
                return;
            }
            handed_out(*timer);
        }
    }
    void compare() {
        COFLUX_VERIFY(wheel_.now() == model_.now(), "the present");
        COFLUX_VERIFY(wheel_.empty() == model_.empty(), "empty");
        for (const numbered_timer& node : nodes_)
            COFLUX_VERIFY(node.armed() == model_.armed(node.number), "timer %zu is%s armed", node.number,
                          node.armed() ? "" : " not");
        const std::uint64_t bound = wheel_.next_deadline();
        const std::uint64_t next = model_.next_deadline();
        if (!cancelled_ || next <= wheel_.now()) {
            COFLUX_VERIFY(bound == next, "next deadline %llu, not %llu", static_cast<unsigned long long>(bound),
                          static_cast<unsigned long long>(next));
        } else {
            // Early at most by what the slot of the earliest is wide.
            const int level = (std::bit_width(next ^ wheel_.now()) - 1) / 6;
            COFLUX_VERIFY(bound <= next && bound >> (6 * level) == next >> (6 * level), "next deadline");
        }
    }

    coflux_fuzz::program& program_;
    timing_wheel wheel_;
    timing_wheel_model model_;
    std::vector<numbered_timer> nodes_;
    std::uint64_t last_ = 0;
    bool cancelled_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    coflux_fuzz::program p(bytes, size);
    run r(p, p.number());
    for (int steps = 0; steps < 400 && !p.ended(); ++steps) r.step();
    return 0;
}
