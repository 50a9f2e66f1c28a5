// The laws of a sink of stream jobs as checks, for foreign sinks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/task.hpp>
#include <coflux/stream/sink.hpp>
#include <coflux/testing/conformance/detail/end_trial.hpp>
#include <coflux/testing/conformance/violation.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing {

/// Each law of a sink as a function of a maker, which gives what broke it.
///
/// Shapes: `make()` gives an object `s`, by value, whose `s.get()` is a new sink. `s.value(i)` gives the `i`-th of 60
/// different values, for the sink to take. `s.seen()` gives those that the sink has made visible, in their order, as a
/// range of what is compared with values by ==; it is asked behind a flush, and of a transactional_sink behind a commit
/// or an abort. `s.restart()` and `s.fail(bool)`, if they are there, do what they do for state_store_laws; while it
/// fails, a write throws, or the flush or the commit behind it.
/// A transactional_sink is given everything in transactions.
namespace sink_laws {

template <typename Make>
using subject_of = decltype(std::declval<Make&>()());
template <typename S>
using value_of = std::remove_cvref_t<decltype(std::declval<S&>().value(std::size_t{}))>;

inline constexpr std::size_t different = 60;

/// A batch and positions for the coroutines, and the positions that they are told.
template <typename T>
struct notes {
    std::vector<stream::record<T>> batch;
    std::span<stream::record<T>> written;  // of the batch
    stream::positions done;
    std::optional<stream::positions> committed;
};

/// The acts of a sink.
enum class act { write, flush, begin, commit, abort, committed };

namespace coroutines {

template <typename Sink, typename T>
task<void, manual_executor> does(environment&, Sink* to, notes<T>* n, act what) {
    auto&& here = co_await context();
    if (what == act::write) co_await to->write(here, n->written);
    if (what == act::flush) co_await to->flush(here);
    if constexpr (stream::transactional_sink<Sink>) {
        if (what == act::begin) co_await to->begin(here);
        if (what == act::commit) co_await to->commit(here, n->done);
        if (what == act::abort) co_await to->abort(here);
        if (what == act::committed) n->committed = co_await to->committed(here);
    }
}

/// Runs of a job that write to a sink.
template <typename Make>
class runs {
    using subject_type = subject_of<Make>;
    using value_type = value_of<subject_type>;
    using sink_type = detail::end_type<subject_type>;
    static_assert(stream::sink_of<sink_type, value_type>);

public:
    static constexpr bool has_transactions = stream::transactional_sink<sink_type>;

    runs(const char* law, Make& make, const conformance_options& options) : on_(law, make, options) { look(); }

    /// The next run begins, and with it a transaction.
    void restart() {
        if constexpr (requires(subject_type& s) { s.restart(); }) {
            if (!on_.is_lost()) on_.subject().restart();
        }
        look();
    }
    void write(std::size_t first, std::size_t count) {
        give(first, count);
        on_.must_return("a write", doing(act::write));
    }
    /// All that was written is visible from now on, with the position `n`.
    void finish(std::int64_t n) {
        on_.must_return("a flush", doing(act::flush));
        if constexpr (has_transactions) {
            on_.notes().done = {{"a", n}};
            on_.must_return("a commit", doing(act::commit));
        }
    }
    void begin() {
        if constexpr (has_transactions) on_.must_return("a begin", doing(act::begin));
    }
    void abort() {
        if constexpr (has_transactions) on_.must_return("an abort", doing(act::abort));
    }
    void give(std::size_t first, std::size_t count) {
        on_.notes().batch.clear();
        for (std::size_t i = first; i != first + count; ++i) {
            on_.notes().batch.push_back(
                {on_.subject().value(i), stream::no_time, static_cast<std::int64_t>(i + 1), 0, 0, {}});
        }
        on_.notes().written = on_.notes().batch;
    }
    /// Writes the records that were given once more, at once or in halves.
    void write_again(bool in_halves) {
        const std::span all(on_.notes().batch);
        const std::size_t middle = in_halves ? all.size() / 2 : 0;
        for (const auto part : {all.first(middle), all.subspan(middle)}) {
            on_.notes().written = part;
            if (!part.empty()) on_.must_return("a second write of the same records", doing(act::write));
        }
    }
    void keeps(std::size_t first) {
        for (auto& each : on_.notes().batch)
            expect(each.value == on_.subject().value(first++), "a write that threw has moved a value out");
    }
    [[nodiscard]] auto doing(act what) {
        return [this, what](environment& env) { return does(env, &on_.end(), &on_.notes(), what); };
    }
    /// The positions of the last commit, as the sink has told them when the run began; none: -1.
    [[nodiscard]] std::int64_t committed() {
        const auto& at = on_.notes().committed;
        return at && at->size() == 1 ? at->front().next : -1;
    }
    [[nodiscard]] auto& on() noexcept { return on_; }
    void expect(bool holds, const char* otherwise) {
        if (!on_.is_lost()) on_.expect(holds, otherwise);
    }

    /// The first `count` values were made visible, once and in order.
    [[nodiscard]] bool shows(std::size_t count) { return seen() == numbers(0, count); }
    /// The first `before` of them were, and the `count` behind them, some of these before that, too, unless there are
    /// transactions.
    [[nodiscard]] bool shows_at_least(std::size_t before, std::size_t count) {
        if constexpr (has_transactions) return shows(before + count);
        const std::vector<std::size_t> all = seen();
        if (all.size() < before + count || !std::ranges::equal(std::span(all).first(before), numbers(0, before)))
            return false;
        return std::ranges::equal(std::span(all).last(count), numbers(before, before + count)) &&
               std::ranges::all_of(std::span(all).subspan(before),
                                   [&](std::size_t i) { return i >= before && i < before + count; });
    }
    [[nodiscard]] violations found() && { return std::move(on_).found(); }

private:
    void look() {
        if constexpr (has_transactions) {
            on_.notes().committed.reset();
            on_.must_return("committed()", doing(act::committed));
        }
    }
    static std::vector<std::size_t> numbers(std::size_t first, std::size_t end) {
        std::vector<std::size_t> all;
        for (; first < end; ++first) all.push_back(first);
        return all;
    }
    std::vector<std::size_t> seen() {
        std::vector<std::size_t> all;
        if (on_.is_lost()) return all;
        for (const auto& each : on_.subject().seen()) {
            std::size_t i = 0;
            while (i != different && !(each == on_.subject().value(i))) ++i;
            all.push_back(i);
        }
        return all;
    }

    detail::end_trial<subject_type, notes<value_type>> on_;
};

}  // namespace coroutines

/// Each record that was written is there, once and in order.
template <typename Make>
violations takes_each_record_once_and_in_order(Make make, const conformance_options& options = {}) {
    coroutines::runs<Make> job("takes_each_record_once_and_in_order", make, options);
    std::size_t written = 0;
    for (const std::size_t count : {1, 2, 5, 32}) {
        if (count != 2) job.begin();  // two writes are together
        job.write(written, count);
        written += count;
        if (count == 1) continue;
        job.finish(static_cast<std::int64_t>(written));
        job.expect(job.shows(written), "other records are there than those that were written, or in another order");
    }
    return std::move(job).found();
}

/// Records that were flushed, and committed where there are transactions, are there in the next run, and further ones
/// come behind them.
template <typename Make>
violations keeps_them_for_the_next_run(Make make, const conformance_options& options = {}) {
    coroutines::runs<Make> job("keeps_them_for_the_next_run", make, options);
    for (std::size_t run = 0; run != 3; ++run) {
        job.begin();
        job.write(4 * run, 4);
        job.finish(static_cast<std::int64_t>(run));
        job.restart();
        job.expect(job.shows(4 * run + 4), "a run has not left to the next one what it had flushed");
    }
    return std::move(job).found();
}

/// A write that throws has kept the values, and takes the same records again, at once or in halves; none is lost, and
/// none that was written before comes twice. In a transaction none comes twice at all. A flush or a commit that throws
/// ends a run, and the next one gives the records again.
template <typename Make>
violations takes_the_same_again_behind_a_failure(Make make, const conformance_options& options = {}) {
    constexpr const char* law = "takes_the_same_again_behind_a_failure";
    constexpr const char* lost = "behind a failure a record is missing, or one is there that should not be";
    violations found;
    for (std::size_t at = 1; found.empty() && at <= options.rounds; ++at) {
        coroutines::runs<Make> job(law, make, options);
        job.begin();
        job.write(0, 3);
        job.give(3, 5);
        const detail::ending how = job.on().run_without_memory(job.doing(act::write), at);
        job.expect(how == detail::ending::returned || job.on().ran_out(), "a write threw where nothing failed");
        if (how == detail::ending::threw) {
            job.keeps(3);
            job.write_again(at % 2 == 0);
        }
        job.finish(1);
        job.expect(job.shows_at_least(3, 5), lost);
        const bool was_last = !job.on().ran_out();
        detail::add(found, std::move(job).found());
        if (was_last) break;
    }
    if constexpr (requires(subject_of<Make>& s) { s.fail(true); }) {
        coroutines::runs<Make> job(law, make, options);
        job.begin();
        job.write(0, 3);
        job.finish(1);
        job.begin();
        job.give(3, 5);
        job.on().subject().fail(true);
        const bool written = job.on().run(job.doing(act::write)) == detail::ending::returned;
        if (!written) job.keeps(3);
        bool is_told = !written || job.on().run(job.doing(act::flush)) == detail::ending::threw;
        if constexpr (decltype(job)::has_transactions) {
            job.on().notes().done = {{"a", 2}};
            if (!is_told) is_told = job.on().run(job.doing(act::commit)) == detail::ending::threw;
        }
        job.expect(is_told, "no call threw for a write that failed");
        job.on().subject().fail(false);
        if (written) {
            job.restart();
            job.begin();
            job.write(3, 5);
        } else {
            job.write_again(true);
        }
        job.finish(2);
        job.expect(job.shows_at_least(3, 5), lost);
        detail::add(found, std::move(job).found());
    }
    return found;
}

/// A stop in a write takes away nothing that was flushed, and leaves at most some of its own records. The next run
/// gives them again.
template <typename Make>
violations loses_nothing_to_a_stop(Make make, const conformance_options& options = {}) {
    violations found;
    for (std::size_t steps = 0; found.empty() && steps <= options.rounds; ++steps) {
        coroutines::runs<Make> job("loses_nothing_to_a_stop", make, options);
        job.begin();
        job.write(0, 3);
        job.finish(1);
        job.begin();
        job.give(3, 5);
        const detail::ending how = job.on().run_stopped(job.doing(act::write), steps);
        job.expect(how != detail::ending::threw, "a write that was stopped threw");
        job.on().expect(how != detail::ending::never, "a stop did not end a write");
        job.abort();
        job.restart();
        job.begin();
        job.write(3, 5);
        job.finish(2);
        job.expect(job.shows_at_least(3, 5), "behind a stop a record is missing, or one is there that should not be");
        detail::add(found, std::move(job).found());
        if (how == detail::ending::returned) break;
    }
    return found;
}

/// A commit makes its transaction visible with its positions, which the next run is told.
template <typename Make>
violations tells_the_positions_of_the_last_commit(Make make, const conformance_options& options = {}) {
    coroutines::runs<Make> job("tells_the_positions_of_the_last_commit", make, options);
    if constexpr (decltype(job)::has_transactions) {
        job.expect(!job.on().notes().committed, "a new sink has committed positions");
        for (std::size_t n = 0; n != 3; ++n) {
            job.begin();
            job.write(2 * n, 2);
            job.finish(static_cast<std::int64_t>(n));
            job.restart();
            job.expect(job.committed() == static_cast<std::int64_t>(n),
                       "the positions are not those of the last commit");
            job.expect(job.shows(2 * n + 2), "other records are there than those that were committed");
        }
    }
    return std::move(job).found();
}

/// Records of a transaction that was aborted, or that an earlier run has left open, are not there.
template <typename Make>
violations forgets_what_was_not_committed(Make make, const conformance_options& options = {}) {
    coroutines::runs<Make> job("forgets_what_was_not_committed", make, options);
    if constexpr (decltype(job)::has_transactions) {
        const auto leave = [&](bool aborted) {
            job.begin();
            job.write(10, 4);
            job.on().must_return("a flush", job.doing(act::flush));
            if (aborted) job.abort();
            if (!aborted) job.restart();
        };
        leave(true);
        job.expect(job.shows(0), "records of an aborted transaction are there");
        leave(false);
        job.expect(job.committed() == -1, "a transaction that was left open has committed positions");
        for (std::size_t n = 0; n != 2; ++n) {
            job.begin();
            job.write(2 * n, 2);
            job.finish(static_cast<std::int64_t>(n));
            leave(n == 0);
            job.restart();
            job.expect(job.committed() == static_cast<std::int64_t>(n),
                       "the positions are not those of the last commit");
            job.begin();
            job.abort();
            job.expect(job.shows(2 * n + 2), "records of a transaction that was not committed are there");
        }
    }
    return std::move(job).found();
}

/// A commit that fails or is stopped has happened or not: the positions that the next run is told are those of the
/// records that are there.
template <typename Make>
violations commits_as_a_whole(Make make, const conformance_options& options = {}) {
    violations found;
    if constexpr (coroutines::runs<Make>::has_transactions) {
        // Allocations fail first, then steps are stopped.
        for (const bool stops : {false, true}) {
            for (std::size_t n = stops ? 0 : 1; found.empty() && n <= options.rounds; ++n) {
                coroutines::runs<Make> job("commits_as_a_whole", make, options);
                job.begin();
                job.write(0, 3);
                job.finish(1);
                job.begin();
                job.write(3, 5);
                job.on().must_return("a flush", job.doing(act::flush));
                job.on().notes().done = {{"a", 2}};
                const detail::ending how = stops ? job.on().run_stopped(job.doing(act::commit), n)
                                                 : job.on().run_without_memory(job.doing(act::commit), n);
                job.on().expect(how != detail::ending::never, "a commit did not end");
                job.restart();
                const bool has_second = job.committed() == 2;
                job.expect(has_second || job.committed() == 1,
                           "behind a commit that failed, its positions are no one's");
                job.expect(has_second || how != detail::ending::returned, "a commit returned, and is not told");
                job.begin();
                job.abort();
                job.expect(job.shows(has_second ? 8 : 3), "the positions are not those of the records that are there");
                const bool was_last = stops ? how == detail::ending::returned : !job.on().ran_out();
                detail::add(found, std::move(job).found());
                if (was_last) break;
            }
        }
    }
    return found;
}

}  // namespace sink_laws

/// All laws of a sink.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_sink(Make make, const conformance_options& options = {}) {
    violations found;
    detail::add(found, sink_laws::takes_each_record_once_and_in_order(make, options));
    detail::add(found, sink_laws::keeps_them_for_the_next_run(make, options));
    detail::add(found, sink_laws::takes_the_same_again_behind_a_failure(make, options));
    detail::add(found, sink_laws::loses_nothing_to_a_stop(make, options));
    detail::add(found, sink_laws::tells_the_positions_of_the_last_commit(make, options));
    detail::add(found, sink_laws::forgets_what_was_not_committed(make, options));
    detail::add(found, sink_laws::commits_as_a_whole(make, options));
    return found;
}

}  // namespace coflux::testing

COFLUX_TYPES_OF_USERS_END
