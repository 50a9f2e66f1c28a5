// failures: what happens to a record that a stage or the sink has refused.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/stream/dead_letters.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/job.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/time/sleep.hpp>

namespace coflux::stream::detail {

/// All workers of a job decide about a failure by it.
template <typename OnError>
struct failure_policy {
    OnError on_error;
    retry retries;
    std::string job;
    std::function<std::string(std::uint32_t)> partition_name;
    observed& seen;
};

[[nodiscard]] std::string text_of(const std::exception_ptr& error);

/// Records that are given up go somewhere, with what was read.
template <typename OnError>
inline constexpr bool has_dead_letters = !std::is_same_v<OnError, fail_job> && !std::is_same_v<OnError, skip_record>;

/// Decides for one worker.
template <typename OnError>
class failures {
public:
    /// `counts`: where what it decides is counted.
    failures(failure_policy<OnError>& policy, std::string stage, std::uint32_t seed, actor_counts& counts)
        : policy_(policy),
          counts_(counts),
          stage_(std::move(stage)),
          random_(seed + 1) {}

    /// A record of `partition` has failed: waits before another attempt. Returns: false where there is none left.
    [[nodiscard]] call<bool> try_again(environment&, std::uint32_t partition) {
        counts_.failed.add(1);
        partition_counts* const of_partition = policy_.seen.partition(partition);
        if (of_partition != nullptr) of_partition->failed.add(1);
        if (attempts_ == policy_.retries.attempts) {
            attempts_ = 0;
            co_return false;
        }
        counts_.retried.add(1);
        if (of_partition != nullptr) of_partition->retried.add(1);
        const auto doubled = policy_.retries.first * (std::int64_t{1} << std::min(attempts_, 30U));
        const auto most = std::min<std::chrono::nanoseconds>(doubled, policy_.retries.most);
        ++attempts_;
        const auto half = most / 2;  // jitter: between half of it and all of it
        co_await sleep_for(half + std::chrono::nanoseconds(half.count() == 0 ? 0 : random_() % half.count()));
        co_return true;
    }
    /// A record has passed.
    void reset() noexcept { attempts_ = 0; }

    /// Gives a record up. Returns once it is skipped, or with the dead letters.
    /// Errors: `error`, where the job shall fail.
    template <typename T>
    [[nodiscard]] call<void> give_up(environment&, const record<T>& r, std::exception_ptr error) {
        if constexpr (std::is_same_v<OnError, fail_job>) {
            std::rethrow_exception(error);
        } else if constexpr (std::is_same_v<OnError, skip_record>) {
            counts_.skipped.add(1);
            if (partition_counts* const p = policy_.seen.partition(r.partition)) p->skipped.add(1);
        } else {
            auto& here = co_await context();
            dead_letter letter{policy_.job,
                               stage_,
                               text_of(error),
                               policy_.retries.attempts + 1,
                               policy_.partition_name(r.partition),
                               r.next,
                               r.time,
                               r.original == nullptr ? original{} : *r.original};
            co_await policy_.on_error.put(here, std::move(letter));
            counts_.dead.add(1);
            if (partition_counts* const p = policy_.seen.partition(r.partition)) p->dead.add(1);
        }
        co_return;
    }

private:
    failure_policy<OnError>& policy_;
    actor_counts& counts_;
    std::string stage_;
    std::minstd_rand random_;
    std::uint32_t attempts_ = 0;
};

}  // namespace coflux::stream::detail
