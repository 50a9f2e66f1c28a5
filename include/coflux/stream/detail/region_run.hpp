// region_run: the workers of a region, and their slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/hot_keys.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/outlet.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/detail/region_calls.hpp>
#include <coflux/stream/flow.hpp>
#include <coflux/stream/job.hpp>
#include <coflux/sync/barrier.hpp>

namespace coflux::stream::detail {

/// The end of a region's operators: puts outputs into the outlet.
template <typename Outlet>
struct outlet_operator {
    static constexpr bool has_state = false;

    template <typename Out>
    void process(place& at, Out& output) {
        if constexpr (std::is_const_v<Out>) {  // a part of a value, which a later attempt needs again
            static_cast<Outlet*>(at.outlet)->put(at, std::remove_const_t<Out>(output));
        } else {
            static_cast<Outlet*>(at.outlet)->put(at, std::move(output));
        }
    }
    void advance(place&, event_time) {}
    void save(state_writer&) const {}
    void load(state_reader&) {}
};

/// A region as it runs: `Types` are its region_types, `NextBy` is the partitioner behind it.
template <typename Types, typename Region, typename NextBy>
class region_run {
public:
    using input = typename Types::input;
    using output = typename Types::output;
    using called = typename Types::called;
    using first_call = typename Types::first_call;
    using key_type = typename Types::key_type;
    using partitioner_type = typename Types::partitioner;
    using by = routing<partitioner_type, input>;
    using outlet_type = outlet<output, NextBy>;
    using operators =
        decltype(bind_stages<called, key_type>(std::declval<const Region&>().stages, outlet_operator<outlet_type>()));

    static constexpr bool has_state = operators::has_state;
    static_assert(
        !std::is_same_v<partitioner_type, in_place> || !has_state,
        "coflux: call_each() behind other stages begins a region without keys: a stage with a state behind it "
        "needs by_key(), by_partition() or to_one() again");
    static_assert(!std::is_same_v<partitioner_type, sticky> || !has_state,
                  "coflux: sticky() sends the records of a key anywhere: a stage with a state stands behind by_key(), "
                  "by_partition() or to_one()");
    static_assert(
        by::is_stateful || std::is_same_v<partitioner_type, in_place> || std::is_same_v<partitioner_type, sticky> ||
            !has_state,
        "coflux: round_robin() sends the records of a key anywhere: a stage with a state stands behind by_key(), "
        "by_partition() or to_one()");

    region_run(const Region& of, std::uint32_t number, std::size_t workers, std::uint32_t slots,
               std::uint32_t state_version)
        : number(number),
          state_version(state_version),
          of_(of),
          slots_(by::one_worker ? 1 : slots),
          inboxes_(by::one_worker ? 1 : workers),
          meeting_(inboxes_.size()) {
        slot_owners first(slots_.size());
        for (std::size_t s = 0; s != first.size(); ++s) first[s] = first_owner(s);
        owners_ = std::make_shared<const slot_owners>(std::move(first));
    }

    [[nodiscard]] std::size_t workers() const noexcept { return inboxes_.size(); }
    /// At the beginning.
    [[nodiscard]] const std::shared_ptr<const slot_owners>& owners() const noexcept { return owners_; }
    [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }
    /// Where the workers meet when slots change their owners.
    [[nodiscard]] barrier<>& meeting() noexcept { return meeting_; }
    [[nodiscard]] const typename Types::partitioner& partitioner() const noexcept { return of_.by; }
    [[nodiscard]] const first_call& call_first() const noexcept { return of_.first; }
    [[nodiscard]] inbox<input>& inbox_of(std::size_t worker) noexcept { return inboxes_[worker]; }
    [[nodiscard]] outlet_type& outlet_of(std::size_t worker) noexcept { return *outlets_[worker]; }
    outlet_type& add_outlet(std::unique_ptr<outlet_type> o) { return *outlets_.emplace_back(std::move(o)); }

    /// The operators of a slot; the first call makes them.
    [[nodiscard]] operators& operators_of(std::uint32_t slot) {
        auto& found = slots_[slot];
        if (found == nullptr) [[unlikely]] {
            found =
                std::make_unique<operators>(bind_stages<called, key_type>(of_.stages, outlet_operator<outlet_type>()));
        }
        return *found;
    }
    /// Calls `use(slot, operators)` for the slots of a worker that have operators.
    template <typename Use>
    void each_of(std::size_t worker, const slot_owners& owners, Use use) {
        for (std::uint32_t s = 0; s != slots_.size(); ++s) {
            if (owners[s] == worker && slots_[s] != nullptr) use(s, *slots_[s]);
        }
    }

    /// Takes the states of a worker's slots over, before the run. Workers may do so at once.
    void restore(std::size_t worker, std::vector<slot_state>& from) {
        for (slot_state& each : from) {
            if (each.region != number || first_owner(each.slot) != worker) continue;
            restore(each);
            each.bytes = std::vector<std::byte>();  // the next table has use for the memory
        }
    }

    const std::uint32_t number;
    const std::uint32_t state_version;

private:
    [[nodiscard]] std::uint32_t first_owner(std::size_t slot) const noexcept {
        return static_cast<std::uint32_t>(slot % inboxes_.size());
    }
    void restore(const slot_state& from) {
        if (from.slot >= slots_.size())
            throw corrupt_state("coflux: a stored state of slot " + std::to_string(from.slot));
        state_reader in(from.bytes);
        in.set_version(in.number<std::uint32_t>());
        if (in.version() > state_version) {
            throw corrupt_state("coflux: the stored state of slot " + std::to_string(from.slot) + " of region " +
                                std::to_string(number) + " is of version " + std::to_string(in.version()) +
                                "; job::state_version is " + std::to_string(state_version));
        }
        operators_of(from.slot).load(in);
        if (in.left() != 0) {
            throw corrupt_state("coflux: the stored state of slot " + std::to_string(from.slot) + " of region " +
                                std::to_string(number) + " has " + std::to_string(in.left()) +
                                " bytes more than its stages read: it is that of another flow");
        }
    }

    const Region& of_;
    std::vector<std::unique_ptr<operators>> slots_;
    std::shared_ptr<const slot_owners> owners_;
    std::vector<inbox<input>> inboxes_;
    barrier<> meeting_;
    std::vector<std::unique_ptr<outlet_type>> outlets_;
};

/// A worker of a region: the loop over its parcels.
template <typename Region, typename OnError>
class region_worker {
    using input = typename Region::input;
    using by = typename Region::by;
    static constexpr bool calls_first = !std::is_same_v<typename Region::first_call, no_call>;

public:
    region_worker(Region& of, std::size_t number, failure_policy<OnError>& policy, barriers& on_their_way,
                  bool keeps_state)
        : of_(of),
          number_(number),
          in_(of.inbox_of(number)),
          out_(of.outlet_of(number)),
          counts_(policy.seen.worker(of.number, number)),
          times_(counts_),
          late_(policy.seen),
          hot_keys_(number),
          failures_(policy, "region " + std::to_string(of.number), static_cast<std::uint32_t>(number), counts_),
          owners_(of.owners()),
          loads_(of.slots()),
          barriers_(on_their_way),
          keeps_state_(keeps_state) {}

    /// From the first parcel to the end of all producers.
    [[nodiscard]] call<void> run(environment&) {
        auto& here = co_await context();
        for (;;) {
            parcel<input>* got = in_.try_next();
            if (got == nullptr) {
                out_.send_all(advanced_);
                publish_counts();
                do {
                    got = *co_await in_.receive();
                } while (in_.holds_back(*got));
            }
            if (out_.must_wait()) co_await out_.refill(here);
            times_.begin();
            look_for_hot_keys(got->records);
            if constexpr (calls_first) co_await calls_.run(here, of_.call_first(), got->records, failures_);
            for (std::size_t i = 0; (i = process(got->records, i)) != got->records.size();) {
                const bool again = co_await failures_.try_again(here, got->records[i].partition);
                if (!again) {
                    co_await failures_.give_up(here, got->records[i], error_);
                    ++i;
                }
            }
            times_.end(got->records.size());
            records_ += got->records.size();
            ++batches_;
            if (in_.watermark() > advanced_) advance(in_.watermark());
            if (in_.pass_barrier()) {
                // [stream.barrier.state]
                if (keeps_state_) save(got->barrier);
                publish_counts();  // before the barrier: a commit has counts of all that it covers
                barriers_.add(got->barrier, of_.number, loads_);
                loads_.assign(loads_.size(), 0);
                if (const auto share = hot_keys_.take()) counts_.hottest.set(*share);
                auto changed = barriers_.owners(got->barrier, of_.number);
                auto behind = barriers_.owners(got->barrier, of_.number + 1);
                out_.close(parcel_kind::barrier, got->barrier, advanced_);
                out_.change(std::move(behind));
                if (changed != nullptr) {
                    co_await of_.meeting().arrive_and_wait();  // who owned a slot has passed the barrier, too
                    owners_ = std::move(changed);
                }
            } else if (in_.has_ended()) {
                out_.close(parcel_kind::end, 0, advanced_);
                publish_counts();
                co_return;
            } else {
                out_.send_full(advanced_);
                publish_counts();
            }
            in_.give_back(*got);
        }
    }

private:
    void publish_counts() noexcept {
        counts_.records.set(records_);
        counts_.batches.set(batches_);
        counts_.sent.set(out_.sent());
        counts_.watermark.set(advanced_);
        counts_.late.set(late_.all());
        late_.publish();
    }

    // Before the stages: they may move a value out. A key that throws fails its record there.
    void look_for_hot_keys(batch<input>& records) noexcept {
        if constexpr (is_by_key<typename Region::partitioner_type>) {
            try {
                hot_keys_.look(records.size(), [&](std::size_t i) -> decltype(auto) {
                    return by::key_of(of_.partitioner(), std::as_const(records[i]));
                });
            } catch (...) {}
        }
    }

    // Runs the records from `first` on. Returns: behind the last one, or the one that has failed with error_.
    std::size_t process(batch<input>& records, std::size_t first) {
        place at;
        at.outlet = &out_;
        at.late = &late_;
        at.watermark = advanced_;
        const std::span all = records.all();  // none of this moves while records go
        std::uint64_t* const loads = loads_.data();
        std::size_t i = first;
        std::uint32_t slot = UINT32_MAX;
        typename Region::operators* operators = nullptr;
        try {
            for (; i != all.size(); ++i) {
                record<input>& r = all[i];
                out_.mark();
                at.touched = false;
                if (r.slot != slot) {
                    slot = r.slot;
                    operators = &of_.operators_of(slot);
                }
                ++loads[slot];
                at.time = r.time;
                at.next = r.next;
                at.partition = r.partition;
                at.slot = r.slot;
                const auto& key = by::key_of(of_.partitioner(), std::as_const(r));
                at.key = &key;
                if constexpr (calls_first) {
                    auto& result = calls_.results()[i];
                    if (result) operators->process(at, *result);
                } else {
                    operators->process(at, r.value);
                }
            }
            failures_.reset();
        } catch (...) {
            if (at.touched) throw;              // its state has counted it: only the last checkpoint is right
            if (i != first) failures_.reset();  // those before it have passed
            // [stream.failure.undo]
            out_.undo();
            // [stream.failure.same_record]
            error_ = std::current_exception();
        }
        return i;
    }

    void advance(event_time watermark) {
        [[maybe_unused]] const event_time before = std::exchange(advanced_, watermark);
        if constexpr (Region::has_state) {
            place at;
            at.outlet = &out_;
            at.late = &late_;
            at.watermark = before;
            of_.each_of(number_, *owners_, [&](std::uint32_t slot, auto& operators) {
                at.slot = slot;
                operators.advance(at, watermark);
            });
            out_.mark();
        }
    }

    void save(std::uint64_t barrier) {
        if constexpr (Region::has_state) {
            of_.each_of(number_, *owners_, [&](std::uint32_t slot, auto& operators) {
                slot_state state{of_.number, slot, {}};
                state_writer out(state.bytes, of_.state_version);
                out(of_.state_version);
                operators.save(out);
                barriers_.add(barrier, std::move(state));
            });
        }
    }

    Region& of_;
    std::size_t number_;
    inbox<input>& in_;
    typename Region::outlet_type& out_;
    actor_counts& counts_;
    sampled_times times_;
    late_counts late_;
    hot_keys hot_keys_;
    failures<OnError> failures_;
    [[no_unique_address]] region_calls<input, typename Region::called> calls_;
    std::shared_ptr<const slot_owners> owners_;
    slot_loads loads_;
    barriers& barriers_;
    bool keeps_state_;
    event_time advanced_ = no_time;
    std::uint64_t records_ = 0;
    std::uint64_t batches_ = 0;
    std::exception_ptr error_;
};

}  // namespace coflux::stream::detail
