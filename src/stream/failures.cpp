#include <coflux/stream/detail/failures.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include <coflux/core/context.hpp>
#include <coflux/time/sleep.hpp>

namespace coflux::stream::detail {

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

call<bool> failures::try_again(environment&, std::uint32_t partition) {
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

call<void> failures::give_up(environment&, record_head r, std::exception_ptr error) {
    if (policy_.fails_job()) std::rethrow_exception(error);
    partition_counts* const of_partition = policy_.seen.partition(r.partition);
    if (policy_.skips) {
        counts_.skipped.add(1);
        if (of_partition != nullptr) of_partition->skipped.add(1);
        co_return;
    }
    auto& here = co_await context();
    dead_letter letter{policy_.job,
                       stage_,
                       text_of(error),
                       policy_.retries.attempts + 1,
                       policy_.source.partition_name(r.partition),
                       r.next,
                       r.time,
                       r.original == nullptr ? original{} : *r.original};
    co_await policy_.letters->put(here, std::move(letter));
    counts_.dead.add(1);
    if (of_partition != nullptr) of_partition->dead.add(1);
}

}  // namespace coflux::stream::detail
