// region_run: the workers of a region, and their slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/outlet.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/flow.hpp>
#include <coflux/stream/job.hpp>

namespace coflux::stream::detail {

/// The end of a region's operators: puts outputs into the outlet.
template <typename Outlet>
struct outlet_operator {
    static constexpr bool has_state = false;

    template <typename Out>
    void process(place& at, Out& output) {
        static_cast<Outlet*>(at.outlet)->put(at, std::move(output));
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
    using key_type = typename Types::key_type;
    using by = routing<typename Types::partitioner, input>;
    using outlet_type = outlet<output, NextBy>;
    using operators =
        decltype(bind_stages<input, key_type>(std::declval<const Region&>().stages, outlet_operator<outlet_type>()));

    static constexpr bool has_state = operators::has_state;
    static_assert(
        by::is_stateful || !has_state,
        "coflux: round_robin() sends the records of a key anywhere: a stage with a state stands behind by_key(), "
        "by_partition() or to_one()");

    region_run(const Region& of, std::uint32_t number, std::size_t workers, std::uint32_t slots)
        : number(number),
          of_(of),
          slots_(by::one_worker ? 1 : slots),
          owners_(slots_.size()),
          inboxes_(by::one_worker ? 1 : workers) {
        for (std::size_t s = 0; s != owners_.size(); ++s) owners_[s] = static_cast<std::uint32_t>(s % inboxes_.size());
    }

    [[nodiscard]] std::size_t workers() const noexcept { return inboxes_.size(); }
    [[nodiscard]] const slot_owners& owners() const noexcept { return owners_; }
    [[nodiscard]] const typename Types::partitioner& partitioner() const noexcept { return of_.by; }
    [[nodiscard]] inbox<input>& inbox_of(std::size_t worker) noexcept { return inboxes_[worker]; }
    [[nodiscard]] outlet_type& outlet_of(std::size_t worker) noexcept { return *outlets_[worker]; }
    outlet_type& add_outlet(std::unique_ptr<outlet_type> o) { return *outlets_.emplace_back(std::move(o)); }

    /// The operators of a slot; the first call makes them.
    [[nodiscard]] operators& operators_of(std::uint32_t slot) {
        auto& found = slots_[slot];
        if (found == nullptr) [[unlikely]] {
            found =
                std::make_unique<operators>(bind_stages<input, key_type>(of_.stages, outlet_operator<outlet_type>()));
        }
        return *found;
    }
    /// Calls `use(slot, operators)` for the slots of a worker that have operators.
    template <typename Use>
    void each_of(std::size_t worker, Use use) {
        for (std::uint32_t s = 0; s != slots_.size(); ++s) {
            if (owners_[s] == worker && slots_[s] != nullptr) use(s, *slots_[s]);
        }
    }

    /// Takes the state of a slot over, before the run.
    void restore(const slot_state& from) {
        if (from.slot >= slots_.size())
            throw corrupt_state("coflux: a stored state of slot " + std::to_string(from.slot));
        state_reader in(from.bytes);
        operators_of(from.slot).load(in);
        if (in.left() != 0) {
            throw corrupt_state("coflux: the stored state of slot " + std::to_string(from.slot) + " of region " +
                                std::to_string(number) + " has " + std::to_string(in.left()) +
                                " bytes more than its stages read: it is that of another flow");
        }
    }

    const std::uint32_t number;

private:
    const Region& of_;
    std::vector<std::unique_ptr<operators>> slots_;
    slot_owners owners_;
    std::vector<inbox<input>> inboxes_;
    std::vector<std::unique_ptr<outlet_type>> outlets_;
};

/// A worker of a region: the loop over its parcels.
template <typename Region, typename OnError>
class region_worker {
    using input = typename Region::input;
    using by = typename Region::by;

public:
    region_worker(Region& of, std::size_t number, failure_policy<OnError>& policy, barriers* keeps_state)
        : of_(of),
          number_(number),
          in_(of.inbox_of(number)),
          out_(of.outlet_of(number)),
          failures_(policy, "region " + std::to_string(of.number), static_cast<std::uint32_t>(number)),
          counts_(policy.counts),
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
            for (std::size_t i = 0; (i = process(got->records, i)) != got->records.size();) {
                const bool again = co_await failures_.try_again(here);
                if (!again) {
                    co_await failures_.give_up(here, got->records[i], error_);
                    ++i;
                }
            }
            records_ += got->records.size();
            ++batches_;
            if (in_.watermark() > advanced_) advance(in_.watermark());
            if (in_.pass_barrier()) {
                if (keeps_state_ != nullptr) save(got->barrier);
                publish_counts();
                out_.close(parcel_kind::barrier, got->barrier, advanced_);
            } else if (in_.has_ended()) {
                out_.close(parcel_kind::end, 0, advanced_);
                co_return;
            } else {
                out_.send_full(advanced_);
            }
            in_.give_back(*got);
        }
    }

private:
    void publish_counts() noexcept {
        // relaxed: counts; nothing is read because of them
        if (of_.number == 1) counts_.records.fetch_add(records_, std::memory_order_relaxed);
        counts_.batches.fetch_add(batches_, std::memory_order_relaxed);
        records_ = 0;
        batches_ = 0;
    }

    // Runs the records from `first` on. Returns: behind the last one, or the one that has failed with error_.
    std::size_t process(batch<input>& records, std::size_t first) {
        place at;
        at.outlet = &out_;
        std::size_t i = first;
        std::uint32_t slot = UINT32_MAX;
        typename Region::operators* operators = nullptr;
        try {
            for (; i != records.size(); ++i) {
                record<input>& r = records[i];
                if (r.slot != slot) {
                    slot = r.slot;
                    operators = &of_.operators_of(slot);
                }
                out_.mark();
                at.time = r.time;
                at.next = r.next;
                at.partition = r.partition;
                at.slot = r.slot;
                at.touched = false;
                const auto& key = by::key_of(of_.partitioner(), std::as_const(r.value));
                at.key = &key;
                operators->process(at, r.value);
            }
            failures_.reset();
        } catch (...) {
            if (at.touched) throw;  // its state has counted it: only the last checkpoint is right
            out_.undo();
            error_ = std::current_exception();
        }
        return i;
    }

    void advance(event_time watermark) {
        advanced_ = watermark;
        if constexpr (Region::has_state) {
            place at;
            at.outlet = &out_;
            of_.each_of(number_, [&](std::uint32_t slot, auto& operators) {
                at.slot = slot;
                operators.advance(at, watermark);
            });
            out_.mark();
        }
    }

    void save(std::uint64_t barrier) {
        if constexpr (Region::has_state) {
            of_.each_of(number_, [&](std::uint32_t slot, auto& operators) {
                slot_state state{of_.number, slot, {}};
                state_writer out(state.bytes);
                operators.save(out);
                keeps_state_->add(barrier, std::move(state));
            });
        }
    }

    Region& of_;
    std::size_t number_;
    inbox<input>& in_;
    typename Region::outlet_type& out_;
    failures<OnError> failures_;
    job_control::counts& counts_;
    barriers* keeps_state_;
    event_time advanced_ = no_time;
    std::uint64_t records_ = 0;
    std::uint64_t batches_ = 0;
    std::exception_ptr error_;
};

}  // namespace coflux::stream::detail
