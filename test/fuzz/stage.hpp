// The ground of fuzz programs of coroutines: one thread, an executor that runs what the program names, and frames that
// are counted.
//
// Each wait is a coroutine of its own, a party. Right before its co_await it informs the model, which from then on
// knows what must come of it: `decided` with a result, `waits`, or `stops`. The real result is compared when
// the coroutine goes on or dies; and once nothing is runnable, a party that is decided and has not gone on has lost a
// wake-up.
#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include "fuzz/program.hpp"

namespace coflux_fuzz {

/// Runs what is queued when, and in the order in which, the program asks.
class hand_executor {
public:
    hand_executor() = default;
    hand_executor(const hand_executor&) = delete;
    hand_executor& operator=(const hand_executor&) = delete;

    void execute(std::coroutine_handle<> h) noexcept { queue_.push_back(h); }
    /// Resumes one of those that are queued.
    void run_one(std::size_t choice) {
        if (queue_.empty()) return;
        const auto at = queue_.begin() + static_cast<std::ptrdiff_t>(choice % queue_.size());
        const std::coroutine_handle<> next = *at;
        queue_.erase(at);
        next.resume();
    }
    void run_all() {
        while (!queue_.empty()) run_one(0);
    }
    [[nodiscard]] bool idle() const noexcept { return queue_.empty(); }

private:
    std::vector<std::coroutine_handle<>> queue_;
};
static_assert(coflux::executor<hand_executor>);

using root = coflux::task<void, hand_executor>;

/// The model's knowledge of a party.
enum class stand {
    fresh,     // has not come to its wait
    choosing,  // one of several things can be done at once; which one, it says itself
    decided,   // has its result, and goes on when it is run
    waits,
    stops,  // must die at its wait
    went_on,
    died
};

struct party {
    party() = default;
    party(const party&) = delete;
    party& operator=(const party&) = delete;
    ~party() = default;

    stand at = stand::fresh;
    bool stop_requested = false;  // a stop was requested
    std::optional<root> coroutine;

    /// At a wait that cannot be over at once: true if the party waits, false if it stops there.
    bool must_wait() noexcept {
        at = stop_requested ? stand::stops : stand::waits;
        return !stop_requested;
    }
    void goes_on() {
        COFLUX_VERIFY(at == stand::decided || at == stand::choosing, "goes on, and is to be at %d",
                      static_cast<int>(at));
        at = stand::went_on;
    }
    /// A local of the party's coroutine: sees it die at its wait.
    class presence {
    public:
        explicit presence(party& p) noexcept : p_(p) {}
        presence(const presence&) = delete;
        presence& operator=(const presence&) = delete;
        ~presence() {
            if (p_.at == stand::went_on) return;
            COFLUX_VERIFY(p_.at == stand::stops, "was stopped, and is to be at %d", static_cast<int>(p_.at));
            p_.at = stand::died;
        }

    private:
        party& p_;
    };
    /// Requests a stop; true if that takes the party out of its wait, as the model's owner then has to do.
    bool stop() {
        if (stop_requested || coroutine->done()) return false;
        stop_requested = true;
        const bool takes_out = at == stand::waits;
        if (takes_out) at = stand::stops;
        coroutine->request_stop();
        return takes_out;
    }
    /// With nothing runnable: has it ended if and only if it must have?
    void check_at_rest() const {
        const bool ended = at == stand::went_on || at == stand::died;
        COFLUX_VERIFY(ended || at == stand::waits, "a lost wake-up: nothing is runnable and a party is at %d",
                      static_cast<int>(at));
        COFLUX_VERIFY(coroutine->done() == ended, "a party at %d has%s ended", static_cast<int>(at),
                      coroutine->done() ? "" : " not");
    }
};

/// An environment on a hand_executor. Frames are the heap's own blocks, so that AddressSanitizer sees a use after the
/// end.
class stage {
public:
    stage() = default;
    stage(const stage&) = delete;
    stage& operator=(const stage&) = delete;
    ~stage() { COFLUX_VERIFY(frames.live() == 0, "%zu frames are left", frames.live()); }

    coflux::counting_resource frames{std::pmr::new_delete_resource()};
    hand_executor executor;

private:
    decltype(coflux::make_environment(std::declval<std::pmr::memory_resource*>(),
                                      std::declval<hand_executor&>())) env_ =
        coflux::make_environment(static_cast<std::pmr::memory_resource*>(&frames), executor);

public:
    coflux::environment& env = env_;
};

/// The parties of a run. Those that have ended are forgotten from time to time.
template <typename Party>
class parties {
public:
    static constexpr std::size_t most = 48;

    [[nodiscard]] bool full() const noexcept { return all_.size() >= most; }
    Party& add() { return *all_.emplace_back(std::make_unique<Party>()); }
    [[nodiscard]] Party* pick(std::size_t choice) const noexcept {
        return all_.empty() ? nullptr : all_[choice % all_.size()].get();
    }
    [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
    [[nodiscard]] auto end() const noexcept { return all_.end(); }
    void run_all(stage& on) {
        on.executor.run_all();
        for (const auto& p : all_) p->check_at_rest();
        std::erase_if(all_, [](const auto& p) { return p->coroutine->done() && p->may_be_forgotten(); });
    }

private:
    std::vector<std::unique_ptr<Party>> all_;
};

/// A value that counts its kind and shows that it was moved from.
class item {
public:
    static constexpr int moved_from = -1;

    explicit item(int v) noexcept : value_(v) { ++alive; }
    item(const item& other) noexcept : value_(other.value_) { ++alive; }
    item(item&& other) noexcept : value_(std::exchange(other.value_, moved_from)) { ++alive; }
    item& operator=(const item&) = default;
    item& operator=(item&& other) noexcept {
        value_ = std::exchange(other.value_, moved_from);
        return *this;
    }
    ~item() { --alive; }

    [[nodiscard]] int value() const noexcept { return value_; }

    static inline long alive = 0;

private:
    int value_;
};

}  // namespace coflux_fuzz
