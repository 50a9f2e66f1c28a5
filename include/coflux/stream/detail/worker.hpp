// worker: the loop of a worker of a region, over its parcels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/hot_keys.hpp>
#include <coflux/stream/detail/links.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/outside_state.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/state.hpp>
#include <coflux/sync/barrier.hpp>

namespace coflux::stream::detail {

class worker;

/// The parts of a job that its workers share.
struct job_parts {
    failure_policy& policy;
    barriers& on_their_way;
    bool keeps_state;
};

/// The workers of a region, and their slots.
class region_run {
public:
    region_run(std::uint32_t number, std::size_t workers, std::uint32_t slots, std::uint32_t state_version);
    region_run(const region_run&) = delete;
    region_run& operator=(const region_run&) = delete;
    virtual ~region_run() = default;

    [[nodiscard]] std::size_t workers() const noexcept { return inboxes_.size(); }
    /// At the beginning.
    [[nodiscard]] const std::shared_ptr<const slot_owners>& owners() const noexcept { return owners_; }
    [[nodiscard]] std::size_t slots() const noexcept { return owners_->size(); }
    /// Where the workers meet when slots change their owners.
    [[nodiscard]] barrier<>& meeting() noexcept { return meeting_; }
    [[nodiscard]] inbox& inbox_of(std::size_t worker) noexcept { return inboxes_[worker]; }

    [[nodiscard]] virtual std::unique_ptr<worker> make_worker(std::size_t number, const job_parts& of) = 0;
    /// Takes the states of a worker's slots over, before the run. Workers may do so at once.
    void restore(std::size_t worker, std::vector<slot_state>& from);

    const std::uint32_t number;
    const std::uint32_t state_version;

private:
    virtual void load(std::uint32_t slot, state_reader& in) = 0;
    void restore(const slot_state& from);
    [[nodiscard]] std::uint32_t first_owner(std::size_t slot) const noexcept {
        return static_cast<std::uint32_t>(slot % inboxes_.size());
    }

    std::vector<inbox> inboxes_;
    barrier<> meeting_;
    std::shared_ptr<const slot_owners> owners_;
};

/// The virtual functions know the types of the flow, and are called once a batch.
class worker {
public:
    worker(region_run& of, std::size_t number, links& out, const job_parts& parts, bool calls_first, bool reads_ahead);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    virtual ~worker() = default;

    /// From the first parcel to the end of all producers.
    [[nodiscard]] call<void> run(environment&);

protected:
    // Looks at the records before the stages do.
    // Returns: how many they are.
    virtual std::size_t look(parcel& records) noexcept = 0;
    // Asks for the states of a batch that are not in memory.
    // Pre: a state is outside of memory.
    virtual void want(parcel& records) = 0;
    // The calls that the region begins with; their results wait for process().
    // Pre: there are some.
    [[nodiscard]] virtual call<void> call_first(environment& here, parcel& records) = 0;
    // Runs the records from `first` on. Returns: behind the last one, or the one that has failed with error_.
    virtual std::size_t process(parcel& records, std::size_t first) = 0;
    // The watermark is `advanced_` now, and was `before`.
    virtual void advance(event_time before) = 0;
    // Asks for the states of a slot that are not in memory and due at `advanced_`.
    // Returns: false where the slot has no state yet.
    // Pre: of both: a state is outside of memory.
    virtual bool want_due(std::uint32_t slot) = 0;
    // The same for a slot whose states are there.
    virtual void advance(std::uint32_t slot, event_time before) = 0;
    // Writes the state of its slots down, for a barrier.
    virtual void save(std::uint64_t barrier) = 0;

    const std::size_t number_;
    late_counts late_;
    hot_keys hot_keys_;
    failures failures_;
    std::shared_ptr<const slot_owners> owners_;
    slot_loads loads_;
    barriers& barriers_;
    wanted_states wanted_;
    event_time advanced_ = no_time;
    std::exception_ptr error_;

private:
    void publish_counts() noexcept;
    // Lets a thread that may block read the states that a batch needs.
    [[nodiscard]] call<void> read_ahead(environment&, parcel& records);
    [[nodiscard]] call<void> read_wanted(environment&);
    // Slot by slot, and what is due in it part by part: no more is in memory.
    [[nodiscard]] call<void> advance_ahead(environment&, event_time before);

    region_run& of_;
    inbox& in_;
    links& out_;
    actor_counts& counts_;
    sampled_times times_;
    const bool keeps_state_;
    const bool calls_first_;
    const bool reads_ahead_;
    std::uint64_t records_ = 0;
    std::uint64_t batches_ = 0;
};

}  // namespace coflux::stream::detail
