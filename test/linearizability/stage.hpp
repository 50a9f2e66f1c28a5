// Plays scenes: short histories of one object on real threads, each from a seed of its own, each checked.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include "linearizability/actor.hpp"
#include "linearizability/checker.hpp"
#include "linearizability/drawing.hpp"
#include "linearizability/history.hpp"

namespace coflux_test::linearizability {

inline constexpr std::size_t actors = 4;

struct order_of_play {
    std::uint64_t count = 1;
    std::uint64_t seed = 1;   ///< of the first history; the next ones have the next numbers
    bool same_seed = false;   ///< all histories from `seed`: the schedule still differs
    std::size_t threads = 2;  ///< of the pool
};

/// The result.
struct findings {
    std::uint64_t histories = 0;
    std::uint64_t operations = 0;
    std::uint64_t parallel = 0;   ///< histories in which operations on two threads overlap
    std::uint64_t stopped = 0;    ///< operations whose wait a stop ended
    std::uint64_t looked_at = 0;  ///< configurations that the checks looked at
    bool failed = false;
    std::uint64_t failing_seed = 0;
    std::string picture;  ///< the shortest failing beginning of the failing history, and all of it

    void add(findings&& other) {
        histories += other.histories;
        operations += other.operations;
        parallel += other.parallel;
        stopped += other.stopped;
        looked_at += other.looked_at;
        if (!other.failed || failed) return;
        failed = true;
        failing_seed = other.failing_seed;
        picture = std::move(other.picture);
    }
};

/// A watchdog looks at it: how many histories have ended, and the seed of the one that runs.
struct pulse {
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> seed{0};
};

/// A Scene has an object to be checked, made anew for each history:
///   Scene(random_numbers&)               chooses its parameters
///   Scene::specification_type specification() const
///   static fork<void, pool> act(environment&, borrowed<Scene>, borrowed<actor>)
///                                        what an actor does; begins with an attendance
///   void call_time(actor& director)      what ends waits other than a stop (a close, a release), or nothing
template <typename Scene>
class stage {
    using pool = coflux::thread_pool_executor;

public:
    static coflux::task<findings, pool> play(coflux::environment&, coflux::borrowed<pulse> p, order_of_play order) {
        auto&& here = co_await coflux::context();
        stage on;
        std::vector<coflux::fork<void, pool>> forks;
        forks.reserve(actors);
        for (std::uint64_t i = 0; i < order.count && !on.result_.failed; ++i) {
            const std::uint64_t seed = order.seed + (order.same_seed ? 0 : i);
            p->seed.store(seed, std::memory_order_relaxed);
            random_numbers random(seed);
            on.prepare(random);
            Scene scene(random);
            for (std::size_t a = 0; a < actors; ++a)
                forks.push_back(Scene::act(here, coflux::borrowed(scene), coflux::borrowed(on.cast_[a])));
            co_await on.direct(here, random, scene, forks);
            for (auto& f : forks) {
                const auto outcome = co_await coflux::as_outcome(std::move(f));
                if (outcome.has_error()) std::rethrow_exception(outcome.error());
            }
            forks.clear();
            // acquire pairs with the release in recording::watched: what it has noted is there.
            while (on.ground_.suspending.load(std::memory_order_acquire) != 0) coflux::detail::cpu_pause();
            on.judge(scene, seed);
            p->ended.fetch_add(1, std::memory_order_relaxed);
        }
        on.result_.looked_at = on.checker_.looked_at();
        co_return std::move(on.result_);
    }

private:
    void prepare(random_numbers& random) noexcept {
        ground_.clock.rewind();
        ground_.first_thread.store(nullptr, std::memory_order_relaxed);
        ground_.met.store(false, std::memory_order_relaxed);
        ground_.ended.store(0, std::memory_order_relaxed);
        ground_.values.store(0, std::memory_order_relaxed);
        for (std::size_t a = 0; a < cast_.size(); ++a)
            cast_[a].prepare(ground_, static_cast<std::uint8_t>(a), random());
        stops_.fill(never);
    }

    /// Waits a while for the actors, and then ends the waits that nothing else ends. Sometimes it stops one earlier.
    coflux::call<void> direct(coflux::environment&, random_numbers& random, Scene& scene,
                              std::vector<coflux::fork<void, pool>>& forks) {
        const unsigned patience = 4 + random.below(12);
        if (random.one_in(4)) {
            for (unsigned left = random.below(4); left != 0; --left) co_await coflux::yield();
            dawdle(random.below(64));
            stop(random.below(actors), forks);
        }
        for (unsigned i = 0; i < patience && !all_ended(); ++i) co_await coflux::yield();
        if (!all_ended()) scene.call_time(cast_.back());
        for (unsigned i = 0; i < patience && !all_ended(); ++i) co_await coflux::yield();
        const unsigned first = random.below(actors);
        for (unsigned i = 0; i < actors && !all_ended(); ++i) {
            stop((first + i) % actors, forks);
            if (random.one_in(2)) dawdle(random.below(32));
        }
    }
    [[nodiscard]] bool all_ended() const noexcept { return ground_.ended.load(std::memory_order_relaxed) == actors; }
    void stop(std::size_t whom, std::vector<coflux::fork<void, pool>>& forks) {
        if (stops_[whom] != never) return;
        stops_[whom] = ground_.clock.tick();
        forks[whom].request_stop();
    }

    /// Pre: all actors have ended.
    void judge(const Scene& scene, std::uint64_t seed) {
        history_.clear();
        for (const actor& a : cast_) {
            for (const operation& o : a.done) {
                history_.push_back(o);
                if (o.actor < actors) history_.back().stop = stops_[o.actor];
                if (o.stopped) ++result_.stopped;
            }
        }
        ++result_.histories;
        result_.operations += history_.size();
        if (result_.histories % 16 == 0 && is_parallel(history_))
            result_.parallel += 16;  // a sample: it costs as much as a check
        const auto specification = scene.specification();
        if (checker_.linearizable(specification, history_)) return;
        result_.failed = true;
        result_.failing_seed = seed;
        result_.picture = "no order explains this beginning:\n";
        result_.picture.append(draw(specification, shortest_failing(specification, history_)));
        result_.picture.append("of this history:\n").append(draw(specification, history_));
    }

    common_ground ground_;
    std::array<actor, actors + 1> cast_;  // the last is the director
    std::array<moment, actors> stops_{};
    history history_;
    checker<typename Scene::specification_type> checker_;
    findings result_;
};

/// Plays the histories of `order`, one after the other, and stops at the first that is not linearizable.
template <typename Scene>
findings play(const order_of_play& order, pulse& p) {
    coflux::thread_pool_executor threads{order.threads};
    auto env = coflux::make_environment(threads);
    return stage<Scene>::play(env, coflux::borrowed(p), order).get();
}

}  // namespace coflux_test::linearizability
