// Waits for moments, compared with lists: delay_queue, rate_limiter, timer, and the limits of a condition_variable. A
// simulation gives the time, and the bytes also say in which order coroutines run.
//
// The program acts at moments at which nothing else happens. Between two of them all that is due comes, and goes on; so
// at each of its moments the model knows what every wait must have given.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "fuzz/program.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::testing::sim_executor;
using job = coflux::fork<void, sim_executor>;
using moment = std::chrono::nanoseconds;  // since the program began

constexpr moment unit = 10ms;
constexpr moment between_steps = unit + 1us;  // so that it meets no moment of anything else

/// A wait of a coroutine, and what the model says of it.
struct waiter {
    enum class stand { waits, served, stopped };

    std::optional<int> expected;  // with `served`
    stand at = stand::waits;
    std::size_t count = 1;
    moment until{};
    std::optional<int> got;
    bool ended = false;
    job coroutine;

    void serve(std::optional<int> with) noexcept {
        expected = with;
        at = stand::served;
    }
    /// When all that is due has come.
    void check() const {
        COFLUX_VERIFY(coroutine.done() == (at != stand::waits), "a wait that is at %d %s", static_cast<int>(at),
                      coroutine.done() ? "has ended" : "goes on");
        COFLUX_VERIFY(ended == (at == stand::served), "a wait that is at %d gave %s", static_cast<int>(at),
                      ended ? "something" : "nothing");
        COFLUX_VERIFY(!ended || got == expected, "a wait gave %d, and not %d", got.value_or(-1), expected.value_or(-1));
    }
};

/// Those that wait for one thing, first come, first served, and those that have.
class line {
public:
    waiter& add() {
        waiter& w = *all_.emplace_back(std::make_unique<waiter>());
        waiting_.push_back(&w);
        return w;
    }
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
    [[nodiscard]] bool full() const noexcept { return all_.size() >= 24; }
    [[nodiscard]] waiter& front() noexcept { return *waiting_.front(); }
    void serve_first(std::optional<int> with) {
        waiting_.front()->serve(with);
        waiting_.pop_front();
    }
    void serve_all(std::optional<int> with) {
        while (!empty()) serve_first(with);
    }
    /// Those for which `is_over(waiter)`.
    template <typename F>
    void serve_where(F is_over, std::optional<int> with) {
        for (waiter* const w : waiting_) {
            if (is_over(*w)) w->serve(with);
        }
        std::erase_if(waiting_, [](const waiter* w) { return w->at != waiter::stand::waits; });
    }
    void stop_one(std::size_t choice) {
        if (empty()) return;
        const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(choice % waiting_.size());
        waiter& w = **at;
        waiting_.erase(at);
        w.at = waiter::stand::stopped;
        w.coroutine.request_stop();
    }
    /// The last first, so that none moves up.
    void stop_all() {
        while (!empty()) stop_one(waiting_.size() - 1);
    }
    void check() {
        for (const auto& w : all_) w->check();
        std::erase_if(all_, [](const auto& w) { return w->at != waiter::stand::waits; });
    }

private:
    std::vector<std::unique_ptr<waiter>> all_;
    std::deque<waiter*> waiting_;
};

/// A delay_queue of numbers.
class queue_scene {
public:
    void step(coflux::environment& here, coflux_fuzz::program& p, moment now) {
        switch (p.below(8)) {
        case 0:
        case 1: push(p, now); break;
        case 2:
            if (values_.empty()) break;
            remove(p.byte() % values_.size());
            break;
        case 3: {
            if (values_.empty()) break;
            value& v = values_[p.byte() % values_.size()];
            v.at = some_moment(p, now);
            v.order = ++orders_;
            COFLUX_VERIFY(real_.reset(v.key, begun_ + v.at), "a value that is there was not found");
            break;
        }
        case 4: try_pop(now); break;
        case 5:
            if (line_.full()) break;
            pop(here);
            break;
        case 6: line_.stop_one(p.byte()); break;
        default:
            if (p.below(16) != 0) break;
            closed_ = true;
            real_.close();
            break;
        }
        settle(now);
    }
    void settle(moment now) {
        while (!line_.empty()) {
            const auto first = first_due(now);
            if (first == values_.end()) break;
            line_.serve_first(first->number);
            gone_ = first->key;
            values_.erase(first);
        }
        if (closed_ && values_.empty()) line_.serve_all(std::nullopt);
    }
    void check(moment) {
        line_.check();
        COFLUX_VERIFY(real_.size() == values_.size(), "%zu values, not %zu", real_.size(), values_.size());
        if (gone_) {
            COFLUX_VERIFY(!real_.remove(*gone_) && !real_.reset(*gone_, 1s), "a value that is gone was found");
            gone_.reset();
        }
    }
    void end() { line_.stop_all(); }

private:
    struct value {
        int number;
        moment at;
        std::size_t order;
        coflux::delay_key key;
    };

    static moment some_moment(coflux_fuzz::program& p, moment now) {
        const auto units = static_cast<long>(p.below(12)) - 2;
        return std::max(moment(0), (now / unit + units) * unit);
    }
    std::vector<value>::iterator first_due(moment now) {
        const auto first = std::min_element(values_.begin(), values_.end(), [](const value& a, const value& b) {
            return std::pair(a.at, a.order) < std::pair(b.at, b.order);
        });
        return first != values_.end() && first->at <= now ? first : values_.end();
    }
    void push(coflux_fuzz::program& p, moment now) {
        const int number = ++numbers_;
        const moment at = some_moment(p, now);
        const auto key = real_.push(int{number}, begun_ + at);
        COFLUX_VERIFY(static_cast<bool>(key) != closed_, "a push into a queue");
        if (!closed_ && values_.size() < 64) {
            values_.push_back({number, at, ++orders_, key});
        } else if (!closed_) {
            COFLUX_VERIFY(real_.remove(key) == number, "a value that was just put in");
        }
    }
    void remove(std::size_t i) {
        COFLUX_VERIFY(real_.remove(values_[i].key) == values_[i].number, "a value that is there was not taken out");
        gone_ = values_[i].key;
        values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    void try_pop(moment now) {
        const auto first = line_.empty() ? first_due(now) : values_.end();
        const std::optional<int> got = real_.try_pop();
        COFLUX_VERIFY(got.has_value() == (first != values_.end()) && (!got || *got == first->number), "try_pop()");
        if (got) values_.erase(first);
    }
    static job pops(coflux::environment&, queue_scene* in, waiter* w) {
        w->got = co_await in->real_.pop();
        w->ended = true;
    }
    void pop(coflux::environment& here) {
        waiter& w = line_.add();
        w.coroutine = pops(here, this, &w);
    }

    coflux::delay_queue<int> real_;
    const coflux::clock::time_point begun_ = coflux::clock::now();
    std::vector<value> values_;
    std::optional<coflux::delay_key> gone_;
    std::size_t orders_ = 0;
    int numbers_ = 0;
    bool closed_ = false;
    line line_;
};

/// A rate_limiter: the moment at which it is full is the whole model.
class limiter_scene {
public:
    explicit limiter_scene(coflux_fuzz::program& p) : burst_(p.below(4) + 1), real_(1, unit, burst_) {}

    void step(coflux::environment& here, coflux_fuzz::program& p, moment now) {
        const std::size_t n = p.below(burst_) + 1;
        switch (p.below(4)) {
        case 0: {
            const bool may = line_.empty() && given_at(n) <= now;
            COFLUX_VERIFY(real_.try_acquire(n) == may, "try_acquire() of %zu", n);
            if (may) take(n, now);
            break;
        }
        case 1: line_.stop_one(p.byte()); break;
        default: {
            if (line_.full()) break;
            waiter& w = line_.add();
            w.count = n;
            w.coroutine = acquires(here, this, &w);
            break;
        }
        }
        last_ = now;
        settle(now);
    }
    void settle(moment now) {
        while (!line_.empty()) {
            const moment at = std::max(given_at(line_.front().count), last_);
            if (at > now) break;
            take(line_.front().count, at);
            last_ = at;
            line_.serve_first(1);
        }
    }
    void check(moment) { line_.check(); }
    void end() { line_.stop_all(); }

private:
    /// When there are `n`.
    [[nodiscard]] moment given_at(std::size_t n) const { return full_at_ - unit * static_cast<long>(burst_ - n); }
    void take(std::size_t n, moment now) { full_at_ = std::max(full_at_, now) + unit * static_cast<long>(n); }
    static job acquires(coflux::environment&, limiter_scene* in, waiter* w) {
        co_await in->real_.acquire(w->count);
        w->got = 1;
        w->ended = true;
    }

    const std::size_t burst_;
    coflux::rate_limiter real_;
    moment full_at_{};
    moment last_{};  // before which nothing more is given
    line line_;
};

class timer_scene {
public:
    void step(coflux::environment& here, coflux_fuzz::program& p, moment now) {
        switch (p.below(5)) {
        case 0: {
            const bool was = pending(now);
            const moment at = (now / unit + static_cast<long>(p.below(8)) - 1) * unit;
            fires_at_ = std::max(at, moment(0));
            COFLUX_VERIFY(real_.reset(begun_ + *fires_at_) == was, "reset() of a timer that was%s pending",
                          was ? "" : " not");
            break;
        }
        case 1: {
            const bool was = pending(now);
            COFLUX_VERIFY(real_.stop() == was, "stop() of a timer that was%s pending", was ? "" : " not");
            if (was) {
                fires_at_.reset();
                line_.serve_all(0);
            }
            break;
        }
        case 2: line_.stop_one(p.byte()); break;
        default: {
            if (line_.full()) break;
            waiter& w = line_.add();
            w.coroutine = waits(here, this, &w);
            if (!fires_at_) line_.serve_first(0);
            break;
        }
        }
        settle(now);
    }
    void settle(moment now) {
        if (fires_at_ && *fires_at_ <= now) line_.serve_all(1);
    }
    void check(moment now) {
        line_.check();
        COFLUX_VERIFY(real_.pending() == pending(now), "a timer is%s pending", real_.pending() ? "" : " not");
    }
    void end() { line_.stop_all(); }

private:
    [[nodiscard]] bool pending(moment now) const { return fires_at_ && *fires_at_ > now; }
    static job waits(coflux::environment&, timer_scene* in, waiter* w) {
        w->got = co_await in->real_.wait() ? 1 : 0;
        w->ended = true;
    }

    coflux::timer real_;
    const coflux::clock::time_point begun_ = coflux::clock::now();
    std::optional<moment> fires_at_;
    line line_;
};

/// A condition_variable and its mutex, which the program itself never has.
class condition_scene {
public:
    void step(coflux::environment& here, coflux_fuzz::program& p, moment now) {
        switch (p.below(5)) {
        case 0:
            real_.notify_one();
            if (!line_.empty()) line_.serve_first(1);
            break;
        case 1:
            real_.notify_all();
            line_.serve_all(1);
            break;
        case 2: line_.stop_one(p.byte()); break;
        default: {
            if (line_.full()) break;
            waiter& w = line_.add();
            w.until = (now / unit + static_cast<long>(p.below(8)) - 1) * unit;
            w.coroutine = waits(here, this, &w);
            break;
        }
        }
        settle(now);
    }
    void settle(moment now) {
        line_.serve_where([now](const waiter& w) { return w.until <= now; }, 0);
    }
    void check(moment) {
        line_.check();
        COFLUX_VERIFY(static_cast<bool>(lock_.try_lock()), "the lock is held while all wait");
    }
    void end() { line_.stop_all(); }

private:
    static job waits(coflux::environment&, condition_scene* in, waiter* w) {
        auto held = co_await in->lock_.lock();
        const bool in_time = co_await in->real_.wait_until(held, in->begun_ + w->until);
        COFLUX_VERIFY(held.owns_lock(), "a wait gave its lock away");
        w->got = in_time ? 1 : 0;
        w->ended = true;
    }

    coflux::mutex lock_;
    coflux::condition_variable real_;
    const coflux::clock::time_point begun_ = coflux::clock::now();
    line line_;
};

template <typename Scene>
coflux::call<void> play(coflux::environment&, coflux_fuzz::program& p, Scene& scene) {
    auto&& here = co_await coflux::context();
    moment now{};
    for (int i = 0;; ++i) {
        co_await coflux::sleep_for(between_steps);
        now += between_steps;
        scene.settle(now);
        scene.check(now);
        if (i == 200 || p.ended()) break;
        scene.step(here, p, now);
    }
    scene.end();
    co_await coflux::sleep_for(1ns);  // those that were stopped end
    scene.check(now);
}

coflux::task<void, sim_executor> plays(coflux::environment&, coflux_fuzz::program* p) {
    auto&& here = co_await coflux::context();
    switch (p->below(4)) {
    case 0: {
        queue_scene scene;
        co_await play(here, *p, scene);
        break;
    }
    case 1: {
        limiter_scene scene(*p);
        co_await play(here, *p, scene);
        break;
    }
    case 2: {
        timer_scene scene;
        co_await play(here, *p, scene);
        break;
    }
    default: {
        condition_scene scene;
        co_await play(here, *p, scene);
        break;
    }
    }
}

/// Takes its decisions from bytes; behind their end, what waits longest.
class byte_chooser final : public coflux::testing::chooser {
public:
    explicit byte_chooser(coflux_fuzz::program p) noexcept : bytes_(p) {}
    std::size_t choose(coflux::testing::choice, std::span<const std::uint64_t> candidates) noexcept override {
        return bytes_.byte() % candidates.size();
    }

private:
    coflux_fuzz::program bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t length = std::min<std::size_t>(bytes[0] * std::size_t{2}, size - 1);
    coflux_fuzz::program program(bytes + 1, length);
    byte_chooser chooser(coflux_fuzz::program(bytes + 1 + length, size - 1 - length));
    const coflux::testing::simulation world(chooser);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    plays(env, &program).get();
    return 0;
}
