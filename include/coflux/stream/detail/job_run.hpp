// job_run: a job while it runs, whatever the types of its flow are.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/links.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/detail/reader.hpp>
#include <coflux/stream/detail/slot_owners.hpp>
#include <coflux/stream/detail/worker.hpp>
#include <coflux/stream/detail/writer.hpp>
#include <coflux/stream/job.hpp>

namespace coflux::stream::detail {

/// The options of a job that have no type of its own.
struct job_options {
    std::string name;
    std::size_t workers;
    std::uint32_t slots;
    std::uint32_t state_version;
    std::size_t max_batch;
    std::chrono::nanoseconds linger;
    std::size_t queue_batches;
    std::chrono::nanoseconds commit_every;
    std::chrono::nanoseconds lateness;
    std::chrono::nanoseconds idle_after;
    retry retries;
    job_control* control;
};
template <typename Job>
[[nodiscard]] job_options options_of(const Job& j) {
    return {j.name,          j.workers,      j.slots,    j.state_version, j.max_batch, j.linger,
            j.queue_batches, j.commit_every, j.lateness, j.idle_after,    j.retries,   j.control};
}

/// How many buffers a link has where the job does not say it.
[[nodiscard]] std::size_t batches_of_link(std::size_t max_batch) noexcept;

/// Regions are numbered from 1. The virtual functions know the types of the flow, and are called once a run.
class job_run {
public:
    job_run(std::size_t regions, job_options options, const job_ends& ends, any_letters* letters, bool skips);
    job_run(const job_run&) = delete;
    job_run& operator=(const job_run&) = delete;
    virtual ~job_run() = default;

    [[nodiscard]] job_control* watched_by() const noexcept { return options_.control; }
    [[nodiscard]] call<job_report> run(environment&);

protected:
    // Makes the regions and their links, from the reader to the writer.
    virtual void make_regions() = 0;
    [[nodiscard]] virtual std::unique_ptr<reader> make_reader(const paces& pace, positions at) = 0;
    // Whether a stage has a state.
    [[nodiscard]] virtual bool has_state() const noexcept = 0;

    template <typename Region>
    Region& add_region(std::unique_ptr<Region> r) {
        Region& added = *r;
        regions_.push_back(std::move(r));
        return added;
    }
    void connect(links& from, region_run& to, std::unique_ptr<parcel> (*make)());
    void connect_to_writer(links& from, std::unique_ptr<parcel> (*make)());

    job_options options_;

private:
    std::optional<job_control> own_control_;
    job_control& control_;

protected:
    barriers barriers_;
    failure_policy policy_;

private:
    void prepare();
    // After a commit: slots move from workers that have much more to do than others, at the next barrier.
    void balance(const std::vector<slot_loads>& loads);
    [[nodiscard]] call<positions> restore(environment&);
    [[nodiscard]] call<void> take(environment&, checkpoint& from);
    static fork<void> run_worker(environment&, borrowed<job_run> job, std::size_t region, std::size_t number);
    static fork<void> run_restorer(environment&, borrowed<region_run> of, borrowed<checkpoint> from,
                                   std::size_t number);
    static fork<void> run_writer(environment&, borrowed<job_run> job);

    job_ends ends_;
    writer writer_;
    std::vector<std::unique_ptr<region_run>> regions_;
    std::vector<slot_owners> owners_;  // of each region, as planned; none of the reader
};

/// Runs a job, which its control sees begin and end.
[[nodiscard]] call<job_report> run_job(environment&, std::unique_ptr<job_run> job);

}  // namespace coflux::stream::detail
