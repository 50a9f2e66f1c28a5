// writer: takes the outputs of all workers to the sink, and commits each barrier that has come through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/job.hpp>
#include <coflux/stream/sink.hpp>
#include <coflux/stream/source.hpp>

namespace coflux::stream::detail {

/// The last consumer of a job.
///
/// At a barrier, in this order: flush, then at least once: sink, checkpoint, source. Exactly once: checkpoint, then the
/// sink with the positions, which is the commit point, then the source.
template <typename Out, typename Source, typename Sink, typename Job>
class writer {
    using on_error = decltype(Job::on_error);
    static constexpr bool is_exact = std::is_same_v<decltype(Job::delivery), exactly_once_t>;
    static constexpr bool has_store = !std::is_same_v<decltype(Job::state), no_store>;

public:
    writer(Source& source, Sink& sink, Job& job, failure_policy<on_error>& policy, barriers& on_their_way,
           std::function<void(const std::vector<slot_loads>&)> balance)
        : source_(source),
          sink_(sink),
          job_(job),
          policy_(policy),
          counts_(policy.seen.writer()),
          times_(counts_),
          failures_(policy, "sink", UINT32_MAX / 2, counts_),
          barriers_(on_their_way),
          balance_(std::move(balance)) {}

    [[nodiscard]] inbox<Out>& in() noexcept { return in_; }

    [[nodiscard]] call<void> run(environment&) {
        auto& here = co_await context();
        for (;;) {
            parcel<Out>* got = in_.try_next();
            while (got == nullptr) {
                got = *co_await in_.receive();
                if (in_.holds_back(*got)) got = nullptr;
            }
            if (!got->records.empty()) {
                if constexpr (is_exact) {
                    if (!is_open_) co_await open(here);
                }
                const std::span records = got->records.all();
                std::exception_ptr refused;
                times_.begin();
                try {
                    co_await sink_.write(here, records);
                } catch (...) {
                    refused = std::current_exception();
                }
                std::size_t given_up = 0;
                if (refused != nullptr) given_up = co_await write_again(here, records, refused);
                times_.end(records.size());
                counts_.records.add(records.size() - given_up);
            }
            counts_.batches.add(1);
            if (in_.pass_barrier()) co_await commit(here, got->barrier);
            if (in_.has_ended()) co_return;
            in_.give_back(*got);
        }
    }

    /// The job has failed: the open transaction is aborted. An error of that is not told, because the job's error
    /// is, and the next run fences what is left.
    [[nodiscard]] call<void> abandon(environment&) {
        if constexpr (is_exact) {
            auto& here = co_await context();
            try {
                if (is_open_) co_await sink_.abort(here);
            } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
            }
        }
        co_return;
    }

private:
    [[nodiscard]] call<void> open(environment&) {
        auto& here = co_await context();
        co_await sink_.begin(here);
        is_open_ = true;
    }

    // Gives the sink the same records again. After the last attempt it halves them, until the refused ones are found.
    // Returns: how many those are.
    [[nodiscard]] call<std::size_t> write_again(environment&, std::span<record<Out>> records,
                                                std::exception_ptr refused) {
        auto& here = co_await context();
        for (;;) {
            const bool again = co_await failures_.try_again(here, records[0].partition);
            if (!again) break;
            try {
                co_await sink_.write(here, records);
                failures_.reset();
                co_return 0;
            } catch (...) {
                refused = std::current_exception();
            }
        }
        if (records.size() == 1 || std::is_same_v<on_error, fail_job>) {
            co_await failures_.give_up(here, records[0], refused);
            co_return 1;
        }
        std::size_t given_up = 0;
        for (const std::span half : {records.first(records.size() / 2), records.subspan(records.size() / 2)}) {
            std::exception_ptr error;
            try {
                co_await sink_.write(here, half);
            } catch (...) {
                error = std::current_exception();
            }
            if (error != nullptr) given_up += co_await write_again(here, half, error);
        }
        co_return given_up;
    }

    [[nodiscard]] call<void> commit(environment&, std::uint64_t barrier) {
        auto& here = co_await context();
        auto [reached, loads] = barriers_.take(barrier);
        reached.slots = job_.slots;
        if constexpr (has_dead_letters<on_error>) co_await policy_.on_error.flush(here);
        // [stream.commit.flush]
        co_await sink_.flush(here);
        // A store may put the state into the sink's transaction.
        if constexpr (is_exact) {
            if (!is_open_) co_await open(here);
        }
        // [stream.commit.store]
        if constexpr (has_store) co_await store_of(job_.state).store(here, reached);
        if constexpr (is_exact) {
            is_open_ = false;  // a commit that fails may have been one: it is not aborted
            co_await sink_.commit(here, reached.at);
        }
        // [stream.commit.source]
        if constexpr (committing_source<Source>) co_await source_.commit(here, reached.at);
        barriers_.committed(barrier);
        balance_(loads);
        counts_.commits.add(1);
    }

    Source& source_;
    Sink& sink_;
    Job& job_;
    failure_policy<on_error>& policy_;
    actor_counts& counts_;
    sampled_times times_;
    failures<on_error> failures_;
    barriers& barriers_;
    std::function<void(const std::vector<slot_loads>&)> balance_;
    inbox<Out> in_;
    bool is_open_ = false;
};

}  // namespace coflux::stream::detail
