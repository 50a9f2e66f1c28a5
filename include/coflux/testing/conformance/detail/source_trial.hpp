// A source under check: runs that read it as a job does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/stream/source.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/testing/conformance/detail/end_trial.hpp>
#include <coflux/testing/conformance/violation.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing::detail {

/// A batch that all reads append to, and arguments of calls.
template <typename T>
struct source_notes {
    stream::batch<T> into;
    std::size_t most = 0;
    bool more = true;
    stream::positions to;
};

template <typename S, typename T>
task<void, manual_executor> reads_source(environment&, S* from, source_notes<T>* n) {
    auto&& here = co_await context();
    n->more = co_await from->read(here, n->into, n->most);
    if constexpr (stream::rebalanced_source<S>) {
        while (const auto change = from->take_change()) {
            if (change->what == stream::partition_event::revoked) co_await from->release(here, change->partition);
        }
    }
}
/// A run begins as that of a job.
template <typename E = manual_executor, typename S, typename T>
task<void, E> begins_source(environment&, S* from, source_notes<T>* n, bool has_positions) {
    auto&& here = co_await context();
    if constexpr (stream::rewinding_source<S>) {
        if (!has_positions || !stream::seekable_source<S>) {
            co_await from->rewind(here, n->to);
            co_return;
        }
    }
    if constexpr (stream::seekable_source<S>) {
        if (has_positions || !stream::committing_source<S>) co_await from->seek(here, n->to);
    }
}
template <typename S, typename T>
task<void, manual_executor> seeks_source(environment&, S* from, source_notes<T>* n) {
    auto&& here = co_await context();
    co_await from->seek(here, n->to);
}
template <typename S, typename T>
task<void, manual_executor> commits_source(environment&, S* from, source_notes<T>* n) {
    auto&& here = co_await context();
    co_await from->commit(here, n->to);
}
template <typename E = manual_executor, typename S>
task<void, E> works_for_source(environment&, S* from, bool keeps_originals) {
    auto&& here = co_await context();
    co_await from->work(here, keeps_originals);
}

/// Reads all, and lets commits_beside() begin behind the first record.
template <typename S, typename T>
task<void, thread_pool_executor> reads_beside(environment&, S* from, source_notes<T>* n, manual_reset_event* has_read) {
    auto&& here = co_await context();
    while (co_await from->read(here, n->into, 1)) {
        if (n->into.empty() || !n->to.empty()) continue;
        n->to = {{std::string(from->partition_name(n->into[0].partition)), n->into[0].next}};
        has_read->set();
    }
}
template <typename S, typename T>
task<void, thread_pool_executor> commits_beside(environment&, S* to, source_notes<T>* n, manual_reset_event* has_read,
                                                std::size_t times) {
    auto&& here = co_await context();
    co_await has_read->wait();
    for (; times != 0; --times) {
        co_await to->commit(here, n->to);
        co_await yield();
    }
}

template <typename Make>
class source_trial {
public:
    using subject_type = decltype(std::declval<Make&>()());
    using source_type = end_type<subject_type>;
    using value_type = typename source_type::value_type;
    using shown_values = std::remove_cvref_t<decltype(std::declval<subject_type&>().expected())>;
    static_assert(stream::source<source_type>);
    static constexpr bool is_endless = requires { requires subject_type::endless; };

    source_trial(const char* law, Make& make, const conformance_options& options) : on_(law, make, options) {
        for (const auto& [name, values] : expected()) all_ += values.size();
    }

    [[nodiscard]] source_type& source() noexcept { return on_.end(); }
    [[nodiscard]] auto& on() noexcept { return on_; }
    [[nodiscard]] stream::batch<value_type>& batch() noexcept { return on_.notes().into; }
    [[nodiscard]] shown_values expected() { return on_.subject().expected(); }
    [[nodiscard]] bool more() noexcept { return on_.notes().more && !on_.is_lost(); }
    void expect(bool holds, const std::string& otherwise) {
        if (!on_.is_lost()) on_.expect(holds, otherwise);
    }
    [[nodiscard]] violations found() && {
        on_.stop_beside();
        return std::move(on_).found();
    }

    void restart() {
        on_.stop_beside();
        if constexpr (requires(subject_type& s) { s.restart(); }) {
            if (!on_.is_lost()) on_.subject().restart();
        }
    }
    /// The next run begins, as one of a job that has these positions, or none.
    ending try_to_begin(const std::optional<stream::positions>& at = {}) {
        on_.stop_beside();
        on_.notes().to = at.value_or(stream::positions());
        on_.notes().into.clear();
        on_.notes().more = true;
        ended_.clear();
        const ending how =
            on_.run([&](environment& env) { return begins_source(env, &on_.end(), &on_.notes(), at.has_value()); });
        if constexpr (stream::working_source<source_type>) {
            const bool keeps = batch().keeps_originals();
            on_.start_beside([&](environment& env) { return works_for_source(env, &on_.end(), keeps); });
        }
        return how;
    }
    void begin(const std::optional<stream::positions>& at = {}) {
        on_.has_returned("the beginning of a run", try_to_begin(at));
    }
    /// A seek alone, and what came of it.
    ending seek(stream::positions to) {
        on_.notes().to = std::move(to);
        return on_.run([&](environment& env) { return seeks_source(env, &on_.end(), &on_.notes()); });
    }
    void commit(stream::positions to) {
        on_.notes().to = std::move(to);
        on_.must_return("a commit", [&](environment& env) { return commits_source(env, &on_.end(), &on_.notes()); });
    }

    auto reading(std::size_t most) {
        on_.notes().most = most;
        return [&](environment& env) { return reads_source(env, &on_.end(), &on_.notes()); };
    }
    /// Looks at the records behind the first `before`, which a read has put that returned.
    void check_read(std::size_t before, std::size_t most) {
        const std::size_t count = batch().size() - before;
        if (more()) {
            expect(count != 0 || stream::rebalanced_source<source_type>, "a read returned true and put no record");
            expect(count <= most, "a read put more records than it was asked for");
        } else {
            expect(count == 0, "a read returned false and put records");
        }
        if constexpr (stream::ending_source<source_type>) check_ended(before);
    }
    /// False: the read did not return.
    bool read(std::size_t most) {
        const std::size_t before = batch().size();
        if (!on_.must_return("a read", reading(most))) return false;
        check_read(before, most);
        return true;
    }
    /// True while there is more to be read, and a read of a source without an end does not wait for it.
    [[nodiscard]] bool is_left(std::size_t all) {
        if (is_endless && batch().size() >= all) return false;
        return more() && batch().size() <= all + 100;  // more than that: it never ends
    }
    [[nodiscard]] bool is_left() { return is_left(all_); }
    /// Reads until all of so many records were there, and the end if there is one.
    void read_all(std::size_t most, std::size_t all) {
        while (is_left(all) && read(most)) {}
    }
    void read_all(std::size_t most) { read_all(most, all_); }

    /// A record's partition and value, as they are compared.
    auto show(const value_type& value) {
        if constexpr (requires { on_.subject().show(value); }) {
            return on_.subject().show(value);
        } else {
            return value;
        }
    }
    /// The batch by partitions; those that gave nothing are left out.
    [[nodiscard]] shown_values got() {
        shown_values all;
        for (const auto& each : batch())
            all[std::string(source().partition_name(each.partition))].push_back(show(each.value));
        return all;
    }
    /// The expected records behind the first ones of each partition, of which `first(name)` says how many.
    template <typename First>
    [[nodiscard]] shown_values expected_behind(First first) {
        shown_values all;
        for (const auto& [name, values] : expected()) {
            const std::size_t from = std::min(values.size(), first(name));
            if (from != values.size())
                all[name].assign(values.begin() + static_cast<std::ptrdiff_t>(from), values.end());
        }
        return all;
    }
    [[nodiscard]] shown_values expected_all() {
        return expected_behind([](const std::string&) { return std::size_t{0}; });
    }
    /// The positions behind each record of the batch, by partitions.
    [[nodiscard]] std::map<std::string, std::vector<std::int64_t>> nexts() {
        std::map<std::string, std::vector<std::int64_t>> all;
        for (const auto& each : batch()) all[std::string(source().partition_name(each.partition))].push_back(each.next);
        return all;
    }
    [[nodiscard]] static std::size_t count_of(const shown_values& all) {
        std::size_t count = 0;
        for (const auto& [name, values] : all) count += values.size();
        return count;
    }

private:
    void check_ended(std::size_t before) {
        for (std::size_t i = before; i != batch().size(); ++i) {
            expect(std::ranges::find(ended_, batch()[i].partition) == ended_.end(),
                   "a partition that was told to have ended gave a record");
        }
        const auto told = source().ended();
        const std::span<const std::uint32_t> now = told;
        const bool grows = now.size() >= ended_.size() && std::ranges::equal(now.first(ended_.size()), ended_);
        expect(grows, "ended() told other partitions than before, and not only more");
        ended_.assign(now.begin(), now.end());
    }

    end_trial<subject_type, source_notes<value_type>> on_;
    std::size_t all_ = 0;
    std::vector<std::uint32_t> ended_;
};

}  // namespace coflux::testing::detail

COFLUX_TYPES_OF_USERS_END
