// The laws of a source of stream jobs as checks, for foreign sources.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/outcome.hpp>
#include <coflux/core/task.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/stream/source.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/testing/conformance/detail/end_trial.hpp>
#include <coflux/testing/conformance/detail/source_trial.hpp>
#include <coflux/testing/conformance/violation.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing {

/// Each law of a source as a function of a maker, which gives what broke it.
///
/// Shapes: `make()` gives an object `s`, by value, whose `s.get()` is a source that was not read, with a few records.
/// `s.expected()` gives them as a std::map of the partitions' names to std::vectors of values. Where values cannot be
/// compared by ==, `s.show(value)` gives what can be. `static constexpr bool endless = true`: a read behind the last
/// record waits. `static constexpr bool has_originals = true`: its records have bytes. `s.restart()`, if there is one,
/// does what it does for state_store_laws.
/// A run begins as that of a job does: by a seek, by a rewind, or by neither. All else that a source may have is tested
/// where its type has it: seeks, commits, rewinds, partitions, their ends, extents, and work beside its reads.
namespace source_laws {

template <typename Make>
using source_of = typename detail::source_trial<Make>::source_type;

/// Each record comes once, those of a partition in their order; a read puts at least one and at most what it was asked
/// for, behind what is there; the end puts nothing.
template <typename Make>
violations gives_each_record_once_and_in_order(Make make, const conformance_options& options = {}) {
    violations found;
    for (const std::size_t most : {std::size_t{1}, std::size_t{3}, std::size_t{1'000}}) {
        detail::source_trial<Make> job("gives_each_record_once_and_in_order", make, options);
        job.begin();
        job.read_all(most);
        job.expect(job.got() == job.expected_all(), "other records came than there are, or in another order");
        detail::add(found, std::move(job).found());
    }
    return found;
}

/// The position of a record is behind that of the one before in its partition.
template <typename Make>
violations gives_rising_positions(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("gives_rising_positions", make, options);
    job.begin();
    job.read_all(4);
    for (const auto& [name, all] : job.nexts()) {
        const bool rises = std::ranges::adjacent_find(all, [](auto a, auto b) { return a >= b; }) == all.end();
        job.expect(rises, "the position behind a record is not behind that of the one before");
    }
    return std::move(job).found();
}

/// A read that is stopped loses nothing: what it has not put comes at the next one. A stop ends a read that waits.
template <typename Make>
violations loses_nothing_to_a_stop(Make make, const conformance_options& options = {}) {
    violations found;
    for (std::size_t steps = 0; found.empty() && steps != 12; ++steps) {
        detail::source_trial<Make> job("loses_nothing_to_a_stop", make, options);
        job.begin();
        while (job.is_left()) {
            const std::size_t before = job.batch().size();
            const detail::ending how = job.on().run_stopped(job.reading(2), steps);
            job.expect(how != detail::ending::threw, "a read that was stopped threw");
            job.on().expect(how != detail::ending::never, "a stop did not end a read");
            if (how == detail::ending::returned) job.check_read(before, 2);
            if (how == detail::ending::never || (job.is_left() && !job.read(2))) break;
        }
        job.expect(job.got() == job.expected_all(), "a record was lost to a stop, or came twice behind it");
        if constexpr (decltype(job)::is_endless) {
            const std::size_t before = job.batch().size();
            const detail::ending how = job.on().run_stopped(job.reading(2), 10 + steps);  // it may look now and then
            job.on().expect(how == detail::ending::stopped, "a stop did not end a read that waits for a record");
            job.expect(job.batch().size() == before, "a record came that is not there");
        }
        detail::add(found, std::move(job).found());
    }
    return found;
}

/// A read that throws, here for want of memory, has put nothing; where the source can begin again, the next run has
/// all.
template <typename Make>
violations puts_nothing_when_it_throws(Make make, const conformance_options& options = {}) {
    violations found;
    // Beside a read, the source's own work would run out of memory.
    if constexpr (!stream::working_source<source_of<Make>>) {
        for (std::size_t at = 1; found.empty() && at <= options.rounds; ++at) {
            detail::source_trial<Make> job("puts_nothing_when_it_throws", make, options);
            job.begin();
            job.read(1);
            const std::size_t before = job.batch().size();
            const detail::ending how = job.on().run_without_memory(job.reading(2), at);
            const bool was_last = !job.on().ran_out();
            if (how == detail::ending::threw) {
                job.expect(!was_last, "a read threw where nothing failed");
                job.expect(job.batch().size() == before, "a read that threw has put records");
                if constexpr (stream::seekable_source<source_of<Make>>) {
                    job.begin(stream::positions());
                    job.read_all(2);
                    job.expect(job.got() == job.expected_all(), "behind an error a new run did not give all records");
                }
            } else {
                job.on().has_returned("a read", how);
            }
            detail::add(found, std::move(job).found());
            if (was_last) break;
        }
    }
    return found;
}

/// A run that begins at the position of any record gives those that follow it, and no other.
template <typename Make>
violations goes_on_behind_each_position(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("goes_on_behind_each_position", make, options);
    if constexpr (stream::seekable_source<source_of<Make>>) {
        job.begin();
        job.read_all(3);
        const auto nexts = job.nexts();
        std::size_t longest = 0;
        for (const auto& [name, all] : nexts) longest = std::max(longest, all.size());
        for (std::size_t i = 0; i < longest && !job.on().is_lost(); ++i) {
            stream::positions at;
            for (const auto& [name, all] : nexts) at.push_back({name, all[std::min(i, all.size() - 1)]});
            if (i % 2 == 1) job.restart();
            job.begin(at);
            const auto wanted = job.expected_behind([&](const std::string&) { return i + 1; });
            job.read_all(3, job.count_of(wanted));
            job.expect(job.got() == wanted, "behind a seek other records came than those that follow the position");
        }
    }
    return std::move(job).found();
}

/// A seek leaves the partitions that it does not name where the last seek has put them, or at their front; so a seek
/// that names none begins where the last one has begun.
template <typename Make>
violations seeks_only_what_is_named(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("seeks_only_what_is_named", make, options);
    if constexpr (stream::seekable_source<source_of<Make>>) {
        job.begin();
        job.read_all(3);
        const auto nexts = job.nexts();
        if (nexts.empty()) return std::move(job).found();
        const auto& [named, all] = *nexts.begin();
        const auto wanted =
            job.expected_behind([&, &name = named](const std::string& p) -> std::size_t { return p == name ? 2 : 0; });
        job.begin(stream::positions{{named, all[std::min<std::size_t>(1, all.size() - 1)]}});
        job.read_all(3, job.count_of(wanted));
        job.expect(job.got() == wanted, "a partition that a seek did not name began elsewhere than at its front");
        job.begin(stream::positions());
        job.read_all(3, job.count_of(wanted));
        job.expect(job.got() == wanted, "a seek that names no partition did not begin where the last one has begun");
    }
    return std::move(job).found();
}

/// A position in a partition that there is not is an error, which tells its name.
template <typename Make>
violations refuses_an_unknown_partition(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("refuses_an_unknown_partition", make, options);
    if constexpr (stream::seekable_source<source_of<Make>>) {
        const detail::ending how = job.seek({{"no-such-partition", 1}});
        job.expect(how == detail::ending::threw, "a seek in a partition that there is not was no error");
        job.expect(how != detail::ending::threw || job.on().error().find("no-such-partition") != std::string::npos,
                   "the error of a seek in a partition that there is not does not tell its name: " + job.on().error());
    }
    return std::move(job).found();
}

/// A second run begins as the first; one that is refused is an error of its beginning.
template <typename Make>
violations begins_again(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("begins_again", make, options);
    // One that commits does not know when a run begins.
    if constexpr (stream::rewinding_source<source_of<Make>> ||
                  (stream::seekable_source<source_of<Make>> && !stream::committing_source<source_of<Make>>)) {
        job.begin();
        job.read(2);
        const detail::ending how = job.try_to_begin();
        if (stream::rewinding_source<source_of<Make>> && how == detail::ending::threw) return std::move(job).found();
        job.on().has_returned("the beginning of a second run", how);
        job.read_all(2);
        job.expect(job.got() == job.expected_all(), "a second run did not give the records of the first");
    }
    return std::move(job).found();
}

/// A run begins behind what was committed, and gives what was read and not committed again.
template <typename Make>
violations goes_on_behind_a_commit(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("goes_on_behind_a_commit", make, options);
    if constexpr (stream::committing_source<source_of<Make>>) {
        job.begin();
        while (job.is_left() && job.batch().size() < 4 && job.read(3)) {}
        std::map<std::string, std::size_t> counts;
        stream::positions done;
        for (const auto& [name, all] : job.nexts()) {
            counts[name] = (all.size() + 1) / 2;
            done.push_back({name, all[counts[name] - 1]});
        }
        job.commit(done);
        job.restart();
        job.begin();
        const auto wanted = job.expected_behind([&](const std::string& name) { return counts[name]; });
        job.read_all(3, job.count_of(wanted));
        job.expect(job.got() == wanted, "a run did not begin behind what was committed");
        if constexpr (!decltype(job)::is_endless) {
            done.clear();
            for (const auto& [name, all] : job.nexts()) done.push_back({name, all.back()});
            job.commit(done);
            job.restart();
            job.begin();
            job.read_all(3);
            job.expect(job.batch().empty(), "records came that were committed");
        }
    }
    return std::move(job).found();
}

/// A commit may come from another thread while a read waits. ThreadSanitizer sees more of it than the check.
template <typename Make>
violations commits_beside_a_read(Make make, const conformance_options& options = {}) {
    violations found;
    if constexpr (stream::committing_source<source_of<Make>>) {
        using trial = detail::source_trial<Make>;
        using root = task<void, thread_pool_executor>;
        struct notes : detail::source_notes<typename trial::value_type> {
            manual_reset_event has_read;
        };
        auto stage =
            std::make_shared<detail::room<typename trial::subject_type, thread_pool_executor>>(make, options.threads);
        auto seen = std::make_shared<notes>();
        auto* const source = &detail::end_of(stage->thing);
        bool is_lost = false;
        const auto end = [&](const char* what, root r, bool stopped) {
            if (stopped) r.request_stop();
            std::vector<root> roots;
            roots.push_back(std::move(r));
            const bool ended = detail::all_end(stage, roots, options.patience);
            if (!ended) found.push_back({"commits_beside_a_read", std::string(what) + " did not end"});
            is_lost = is_lost || roots.empty();
            try {
                if (ended) roots.front().get();
            } catch (const task_stopped&) {
                return;
            } catch (const std::exception& e) {
                found.push_back({"commits_beside_a_read", std::string(what) + " threw: " + e.what()});
            }
        };
        end("the beginning of a run",
            detail::begins_source<thread_pool_executor>(stage->env, source, seen.get(), false), false);
        std::vector<root> work;
        if constexpr (stream::working_source<source_of<Make>>)
            work.push_back(detail::works_for_source<thread_pool_executor>(stage->env, source, false));
        root reads = detail::reads_beside(stage->env, source, seen.get(), &seen->has_read);
        end("commits beside reads",
            detail::commits_beside(stage->env, source, seen.get(), &seen->has_read, options.rounds), false);
        end("reads beside commits", std::move(reads), trial::is_endless);
        for (root& each : work) end("work beside reads", std::move(each), true);
        if (is_lost) detail::keep_for_ever(seen);
    }
    return found;
}

/// The partitions that it knows are those that there are, each once.
template <typename Make>
violations knows_its_partitions(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("knows_its_partitions", make, options);
    if constexpr (stream::partitioned_source<source_of<Make>>) {
        job.begin();
        if (job.on().is_lost()) return std::move(job).found();
        std::map<std::string, int> times;
        for (const std::uint32_t p : job.source().partitions()) ++times[std::string(job.source().partition_name(p))];
        const auto expected = job.expected();
        for (const auto& [name, count] : times) {
            job.expect(expected.contains(name), "partitions() told one that there is not: " + name);
            job.expect(count == 1, "partitions() told one twice: " + name);
        }
    }
    return std::move(job).found();
}

/// The extents follow what was read, and a bounded source ends at theirs.
template <typename Make>
violations measures_what_is_left(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("measures_what_is_left", make, options);
    if constexpr (stream::measured_source<source_of<Make>>) {
        job.begin();
        if (job.on().is_lost()) return std::move(job).found();
        (void)job.source().measure();
        while (job.is_left() && job.read(3)) {
            std::map<std::uint32_t, std::int64_t> last;
            for (const auto& each : job.batch()) last[each.partition] = each.next;
            for (const stream::partition_extent& each : job.source().measure()) {
                job.expect(each.next <= each.end, "a partition was read beyond its end");
                job.expect(!last.contains(each.partition) || last[each.partition] == each.next,
                           "an extent does not begin where its partition was read up to");
                job.expect(job.more() || !job.source().is_bounded() || each.next == each.end,
                           "a bounded source has ended before the end of a partition");
            }
        }
    }
    return std::move(job).found();
}

/// Where originals are kept, each record has the bytes that were read.
template <typename Make>
violations keeps_originals_where_asked(Make make, const conformance_options& options = {}) {
    detail::source_trial<Make> job("keeps_originals_where_asked", make, options);
    if constexpr (requires { requires detail::source_trial<Make>::subject_type::has_originals; }) {
        job.batch().keep_originals();
        job.begin();
        job.read_all(3);
        for (std::size_t i = 0; i != job.batch().size(); ++i) {
            const auto kept = job.batch().original_of(i);
            job.expect(kept != nullptr && job.batch()[i].original == kept.get(), "a record is without its original");
        }
    }
    return std::move(job).found();
}

}  // namespace source_laws

/// All laws of a source.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_source(Make make, const conformance_options& options = {}) {
    violations found;
    detail::add(found, source_laws::gives_each_record_once_and_in_order(make, options));
    detail::add(found, source_laws::gives_rising_positions(make, options));
    detail::add(found, source_laws::loses_nothing_to_a_stop(make, options));
    detail::add(found, source_laws::puts_nothing_when_it_throws(make, options));
    detail::add(found, source_laws::goes_on_behind_each_position(make, options));
    detail::add(found, source_laws::seeks_only_what_is_named(make, options));
    detail::add(found, source_laws::refuses_an_unknown_partition(make, options));
    detail::add(found, source_laws::begins_again(make, options));
    detail::add(found, source_laws::goes_on_behind_a_commit(make, options));
    detail::add(found, source_laws::commits_beside_a_read(make, options));
    detail::add(found, source_laws::knows_its_partitions(make, options));
    detail::add(found, source_laws::measures_what_is_left(make, options));
    detail::add(found, source_laws::keeps_originals_where_asked(make, options));
    return found;
}

}  // namespace coflux::testing

COFLUX_TYPES_OF_USERS_END
