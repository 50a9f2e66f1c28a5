// writer: takes the outputs of all workers to the sink, and commits each barrier that has come through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/detail/any_sink.hpp>
#include <coflux/stream/detail/any_source.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/parcel.hpp>

namespace coflux::stream::detail {

/// The source, the sink and the store of a job.
struct job_ends {
    any_source& source;
    any_sink& sink;
    any_store* store;  // nullptr: none
    bool is_exact;     // delivery is exactly once
};

/// The last consumer of a job.
///
/// At a barrier, in this order: flush, then at least once: sink, checkpoint, source. Exactly once: checkpoint, then the
/// sink with the positions, which is the commit point, then the source.
class writer {
public:
    writer(const job_ends& ends, std::uint32_t slots, failure_policy& policy, barriers& on_their_way,
           std::function<void(const std::vector<slot_loads>&)> balance);

    [[nodiscard]] inbox& in() noexcept { return in_; }

    [[nodiscard]] call<void> run(environment&);

    /// The job has failed: the open transaction is aborted. An error of that is not told, because the job's error
    /// is, and the next run fences what is left.
    [[nodiscard]] call<void> abandon(environment&);

private:
    [[nodiscard]] call<void> open(environment&);
    [[nodiscard]] call<std::size_t> write_again(environment&, parcel& from, std::size_t first, std::size_t count,
                                                std::exception_ptr refused);
    [[nodiscard]] call<void> commit(environment&, std::uint64_t barrier);

    job_ends ends_;
    std::uint32_t slots_;
    failure_policy& policy_;
    actor_counts& counts_;
    sampled_times times_;
    failures failures_;
    barriers& barriers_;
    std::function<void(const std::vector<slot_loads>&)> balance_;
    inbox in_;
    bool is_open_ = false;
};

}  // namespace coflux::stream::detail
