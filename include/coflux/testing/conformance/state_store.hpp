// The laws of a state_store of stream jobs as checks, for foreign stores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/task.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/testing/conformance/detail/end_trial.hpp>
#include <coflux/testing/conformance/violation.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing {

/// Each law of a state_store as a function of a maker, which gives what broke it.
///
/// Shapes: `make()` gives an empty store, or an object `s` with one, by value: `s.get()` gives the store then.
/// `s.restart()`, if there is one, does what the end of a process and the beginning of the next do: from then on
/// `s.get()` gives another store, of what has outlived the first. `s.restart_as_another_job()`: the same, for a job of
/// another name. `s.fail(true)`: from now on the next store() fails, as where a disk is full; `s.fail(false)`: no more.
/// A store that keeps the last checkpoint alone says so, as state_store wants it.
namespace state_store_laws {

template <typename Make>
using subject_of = decltype(std::declval<Make&>()());
template <typename Make>
inline constexpr bool keeps_last_alone = stream::detail::keeps_last_alone<detail::end_type<subject_of<Make>>>;

/// The `n`-th checkpoint: of its states one in four is another than before, and one has no bytes.
inline stream::checkpoint made(std::int64_t n) {
    stream::checkpoint c{4, {{"a", n}, {"b", 2 * n}}, {}};
    for (std::uint32_t slot = 0; slot != 4; ++slot) {
        const std::int64_t of = n - (n + slot) % 4;
        c.states.push_back({1, slot, std::vector<std::byte>(10 + slot, static_cast<std::byte>(of))});
    }
    c.states.push_back({2, 1, {}});
    c.states.push_back({2, 3, std::vector<std::byte>(5'000, static_cast<std::byte>(n))});
    return c;
}
/// States may come in any order.
inline bool is_same(const std::optional<stream::checkpoint>& got, const stream::checkpoint& wanted) {
    if (!got || got->slots != wanted.slots || got->at != wanted.at) return false;
    const auto sorted = [](std::vector<stream::slot_state> all) {
        std::ranges::sort(all, {}, [](const stream::slot_state& s) { return std::tie(s.region, s.slot); });
        return all;
    };
    return std::ranges::equal(sorted(got->states), sorted(wanted.states), [](const auto& a, const auto& b) {
        return a.region == b.region && a.slot == b.slot && a.bytes == b.bytes;
    });
}

/// A checkpoint and positions for the coroutines, and the checkpoint that they load.
struct notes {
    stream::checkpoint given;
    stream::positions wanted;
    std::optional<stream::checkpoint> loaded;
};

namespace coroutines {

template <typename Store>
task<void, manual_executor> stores(environment&, Store* to, notes* n) {
    auto&& here = co_await context();
    co_await to->store(here, n->given);
}
template <typename Store>
task<void, manual_executor> loads(environment&, Store* from, notes* n, bool any) {
    auto&& here = co_await context();
    n->loaded = co_await from->load(here, any ? nullptr : &n->wanted);
}

/// Runs of a job with a store: each loads, and then stores.
template <typename Make>
class runs {
public:
    runs(const char* law, Make& make, const conformance_options& options) : on_(law, make, options) {
        on_.expect(!load(), "a new store has a checkpoint");
    }

    /// The next run begins, with the last checkpoint, or that of the positions of the `n`-th.
    std::optional<stream::checkpoint> begin(std::optional<std::int64_t> n = {}) {
        if constexpr (requires(subject_of<Make>& s) { s.restart(); }) {
            if (!on_.is_lost()) on_.subject().restart();
        }
        return load(n);
    }
    std::optional<stream::checkpoint> load(std::optional<std::int64_t> n = {}) {
        if (on_.is_lost()) return std::nullopt;
        on_.notes().loaded.reset();
        if (n) on_.notes().wanted = made(*n).at;
        on_.must_return("a load", [&](environment& env) { return loads(env, &on_.end(), &on_.notes(), !n); });
        return on_.notes().loaded;
    }
    void store(std::int64_t n) { on_.must_return("a store", storing(n)); }
    detail::ending store_stopped(std::int64_t n, std::size_t steps) { return on_.run_stopped(storing(n), steps); }
    detail::ending store_without_memory(std::int64_t n, std::size_t at) {
        return on_.run_without_memory(storing(n), at);
    }
    detail::ending try_to_store(std::int64_t n) { return on_.run(storing(n)); }
    [[nodiscard]] auto& on() noexcept { return on_; }
    void expect(bool holds, const char* otherwise) {
        if (!on_.is_lost()) on_.expect(holds, otherwise);
    }
    [[nodiscard]] violations found() && { return std::move(on_).found(); }

    /// The first was stored, and the store of the second ended so.
    void expect_whole_after(detail::ending how) {
        on_.expect(how != detail::ending::never, "a store did not end");
        const auto got = begin();
        const bool has_second = is_same(got, made(2));
        expect(has_second || is_same(got, made(1)), "behind a store that failed, neither checkpoint is the last");
        expect(has_second || how != detail::ending::returned, "a store returned, and its checkpoint is not the last");
        if constexpr (!keeps_last_alone<Make>) {
            expect(is_same(begin(1), made(1)), "a store that failed took away the checkpoint before");
        }
        store(3);
        expect(is_same(begin(), made(3)), "behind a store that failed, the next one is not the last");
    }

private:
    auto storing(std::int64_t n) {
        on_.notes().given = made(n);
        return [this](environment& env) { return stores(env, &on_.end(), &on_.notes()); };
    }

    detail::end_trial<subject_of<Make>, notes> on_;
};

}  // namespace coroutines

/// Where nothing is stored, nothing is loaded.
template <typename Make>
violations has_nothing_at_first(Make make, const conformance_options& options = {}) {
    coroutines::runs<Make> job("has_nothing_at_first", make, options);
    job.expect(!job.begin(1), "a new store has the checkpoint of some positions");
    job.expect(!job.begin(), "a store that was asked for a checkpoint has one");
    return std::move(job).found();
}

/// The last one that was stored is loaded, as it was given.
template <typename Make>
violations loads_the_last_one(Make make, const conformance_options& options = {}) {
    coroutines::runs<Make> job("loads_the_last_one", make, options);
    for (std::int64_t n = 1; n != 21; ++n) {
        job.store(n);
        if (n % 7 == 1) job.expect(is_same(job.begin(), made(n)), "a load gave another checkpoint than the last");
    }
    job.expect(is_same(job.begin(), made(20)), "a load gave another checkpoint than the last");
    return std::move(job).found();
}

/// Where positions are wanted, their checkpoint is loaded, and no other.
template <typename Make>
violations loads_that_of_the_positions(Make make, const conformance_options& options = {}) {
    coroutines::runs<Make> job("loads_that_of_the_positions", make, options);
    job.store(1);
    job.store(2);
    job.expect(is_same(job.begin(2), made(2)), "the last checkpoint was not found by its positions");
    job.expect(!job.begin(7), "a load of positions that were never stored gave a checkpoint");
    if constexpr (!keeps_last_alone<Make>) {
        job.expect(is_same(job.begin(1), made(1)), "the checkpoint before the last was not found by its positions");
    }
    return std::move(job).found();
}

/// At least the two last ones are kept.
template <typename Make>
violations keeps_the_two_last(Make make, const conformance_options& options = {}) {
    if constexpr (keeps_last_alone<Make>) {
        return {};
    } else {
        coroutines::runs<Make> job("keeps_the_two_last", make, options);
        for (std::int64_t n = 1; n != 6; ++n) job.store(n);
        job.expect(is_same(job.begin(5), made(5)), "the last of five checkpoints is not there");
        job.expect(is_same(job.begin(4), made(4)), "the last but one of five checkpoints is not there");
        return std::move(job).found();
    }
}

/// A checkpoint behind the one that was loaded is forgotten when the next one is stored.
template <typename Make>
violations forgets_what_is_behind(Make make, const conformance_options& options = {}) {
    if constexpr (keeps_last_alone<Make>) {
        return {};
    } else {
        coroutines::runs<Make> job("forgets_what_is_behind", make, options);
        for (std::int64_t n = 1; n != 4; ++n) job.store(n);
        job.expect(is_same(job.begin(2), made(2)), "the last but one of three checkpoints is not there");
        job.store(5);
        job.expect(!job.begin(3), "a checkpoint behind the one that was loaded is there");
        job.expect(is_same(job.begin(), made(5)), "the last checkpoint is not that which was stored last");
        job.expect(is_same(job.begin(2), made(2)), "the checkpoint that a run began with is not there");
        return std::move(job).found();
    }
}

/// A store that fails, for want of memory or by `s.fail(true)`, leaves the checkpoint before it.
template <typename Make>
violations keeps_the_one_before_through_a_failure(Make make, const conformance_options& options = {}) {
    violations found;
    for (std::size_t at = 1; found.empty() && at <= options.rounds; ++at) {
        coroutines::runs<Make> job("keeps_the_one_before_through_a_failure", make, options);
        job.store(1);
        job.expect_whole_after(job.store_without_memory(2, at));
        const bool was_last = !job.on().ran_out();
        detail::add(found, std::move(job).found());
        if (was_last) break;
    }
    if constexpr (requires(subject_of<Make>& s) { s.fail(true); }) {
        coroutines::runs<Make> job("keeps_the_one_before_through_a_failure", make, options);
        job.store(1);
        job.on().subject().fail(true);
        const detail::ending how = job.try_to_store(2);
        job.on().subject().fail(false);
        job.expect(how == detail::ending::threw, "a store that failed did not throw");
        job.expect_whole_after(how);
        detail::add(found, std::move(job).found());
    }
    return found;
}

/// A store that is stopped has stored its checkpoint or not, and leaves the one before it.
template <typename Make>
violations keeps_the_one_before_through_a_stop(Make make, const conformance_options& options = {}) {
    violations found;
    for (std::size_t steps = 0; found.empty() && steps <= options.rounds; ++steps) {
        coroutines::runs<Make> job("keeps_the_one_before_through_a_stop", make, options);
        job.store(1);
        const detail::ending how = job.store_stopped(2, steps);
        job.expect(how != detail::ending::threw, "a store that was stopped threw");
        job.expect_whole_after(how);
        detail::add(found, std::move(job).found());
        if (how == detail::ending::returned) break;
    }
    return found;
}

/// A store that has its job's name refuses the checkpoint of another.
template <typename Make>
violations refuses_that_of_another_job(Make make, const conformance_options& options = {}) {
    if constexpr (requires(subject_of<Make>& s) { s.restart_as_another_job(); }) {
        coroutines::runs<Make> job("refuses_that_of_another_job", make, options);
        job.store(1);
        auto& on = job.on();
        if (on.is_lost()) return std::move(job).found();
        on.subject().restart_as_another_job();
        const detail::ending how =
            on.run([&](environment& env) { return coroutines::loads(env, &on.end(), &on.notes(), true); });
        job.expect(how == detail::ending::threw, "a load of a checkpoint of another job was no error");
        return std::move(job).found();
    }
    return {};
}

}  // namespace state_store_laws

/// All laws of a state_store.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_state_store(Make make, const conformance_options& options = {}) {
    violations found;
    detail::add(found, state_store_laws::has_nothing_at_first(make, options));
    detail::add(found, state_store_laws::loads_the_last_one(make, options));
    detail::add(found, state_store_laws::loads_that_of_the_positions(make, options));
    detail::add(found, state_store_laws::keeps_the_two_last(make, options));
    detail::add(found, state_store_laws::forgets_what_is_behind(make, options));
    detail::add(found, state_store_laws::keeps_the_one_before_through_a_failure(make, options));
    detail::add(found, state_store_laws::keeps_the_one_before_through_a_stop(make, options));
    detail::add(found, state_store_laws::refuses_that_of_another_job(make, options));
    return found;
}

}  // namespace coflux::testing

COFLUX_TYPES_OF_USERS_END
