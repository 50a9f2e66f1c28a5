// region_run_of: a region's workers and slots, of the types of a flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/detail/outlet.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/detail/region_calls.hpp>
#include <coflux/stream/detail/worker.hpp>
#include <coflux/stream/flow.hpp>

namespace coflux::stream::detail {

/// The end of a region's operators: puts outputs into the outlet.
template <typename Outlet>
struct outlet_operator {
    static constexpr bool has_state = false;
    static constexpr bool reads_ahead = false;

    void want(wanted_states&, const void*) {}
    void want_due(wanted_states&, event_time) {}
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
class region_run_of final : public region_run {
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
    static constexpr bool reads_ahead = operators::reads_ahead;
    static_assert(
        !std::is_same_v<partitioner_type, in_place> || !has_state,
        "coflux: call_each() behind other stages begins a region without keys: a stage with a state behind it "
        "needs by_key(), by_partition() or to_one() again");
    static_assert(!std::is_same_v<partitioner_type, sticky> || !has_state,
                  "coflux: sticky() sends the records of a key anywhere: a stage with a state comes behind by_key(), "
                  "by_partition() or to_one()");
    static_assert(
        by::is_stateful || std::is_same_v<partitioner_type, in_place> || std::is_same_v<partitioner_type, sticky> ||
            !has_state,
        "coflux: round_robin() sends the records of a key anywhere: a stage with a state comes behind by_key(), "
        "by_partition() or to_one()");

    region_run_of(const Region& of, std::uint32_t number, std::size_t workers, std::uint32_t slots,
                  std::uint32_t state_version)
        : region_run(number, by::one_worker ? 1 : workers, by::one_worker ? 1 : slots, state_version),
          of_(of),
          slots_(this->slots()) {}

    [[nodiscard]] const partitioner_type& partitioner() const noexcept { return of_.by; }
    [[nodiscard]] const first_call& call_first() const noexcept { return of_.first; }
    [[nodiscard]] outlet_type& outlet_of(std::size_t worker) noexcept { return *outlets_[worker]; }
    outlet_type& add_outlet(std::unique_ptr<outlet_type> o) { return *outlets_.emplace_back(std::move(o)); }
    std::unique_ptr<worker> make_worker(std::size_t number, const job_parts& of) override;

    /// The operators of a slot; the first call makes them.
    [[nodiscard]] operators& operators_of(std::uint32_t slot) {
        auto& found = slots_[slot];
        if (found == nullptr) [[unlikely]] {
            found =
                std::make_unique<operators>(bind_stages<called, key_type>(of_.stages, outlet_operator<outlet_type>()));
        }
        return *found;
    }
    [[nodiscard]] bool has_operators(std::uint32_t slot) const noexcept { return slots_[slot] != nullptr; }
    /// Calls `use(slot, operators)` for the slots of a worker that have operators.
    template <typename Use>
    void each_of(std::size_t worker, const slot_owners& owners, Use use) {
        for (std::uint32_t s = 0; s != slots_.size(); ++s) {
            if (owners[s] == worker && slots_[s] != nullptr) use(s, *slots_[s]);
        }
    }

private:
    void load(std::uint32_t slot, state_reader& in) override { operators_of(slot).load(in); }

    const Region& of_;
    std::vector<std::unique_ptr<operators>> slots_;
    std::vector<std::unique_ptr<outlet_type>> outlets_;
};

template <typename Region>
class worker_of final : public worker {
    using input = typename Region::input;
    using by = typename Region::by;
    static constexpr bool calls_first = !std::is_same_v<typename Region::first_call, no_call>;

public:
    worker_of(Region& of, std::size_t number, const job_parts& parts)
        : worker(of, number, of.outlet_of(number), parts, calls_first, Region::reads_ahead),
          of_(of),
          out_(of.outlet_of(number)) {}

private:
    // Before the stages: they may move a value out. A key that throws fails its record there.
    std::size_t look(parcel& got) noexcept override {
        batch<input>& records = records_of<input>(got);
        if constexpr (is_by_key<typename Region::partitioner_type>) {
            try {
                hot_keys_.look(records.size(), [&](std::size_t i) -> decltype(auto) {
                    return by::key_of(of_.partitioner(), std::as_const(records[i]));
                });
            } catch (...) {}
        }
        return records.size();
    }

    call<void> call_first([[maybe_unused]] environment& here, [[maybe_unused]] parcel& got) override {
        if constexpr (calls_first) return calls_.run(here, of_.call_first(), records_of<input>(got), failures_);
        never_called();
    }

    // A key that throws fails its record in process().
    void want([[maybe_unused]] parcel& got) override {
        if constexpr (Region::reads_ahead) {
            for (const record<input>& r : records_of<input>(got).all()) {
                bool has_key = false;
                try {
                    const auto& key = by::key_of(of_.partitioner(), r);
                    has_key = true;
                    wanted_.slot = r.slot;
                    wanted_.time = r.time;
                    of_.operators_of(r.slot).want(wanted_, &key);
                } catch (...) {
                    if (has_key) throw;
                }
            }
        }
    }

    std::size_t process(parcel& got, std::size_t first) override {
        place at;
        at.outlet = &out_;
        at.late = &late_;
        at.watermark = advanced_;
        const std::span all = records_of<input>(got).all();  // none of this moves while records go
        std::uint64_t* const loads = loads_.data();
        Region& of = of_;
        auto& out = out_;
        std::size_t i = first;
        try {
            // Likely, so that clang inlines what is done for a record: a loop of the usual guess would not be worth it.
            for (; i != all.size(); ++i) [[likely]] {
                record<input>& r = all[i];
                out.mark();
                at.touched = false;
                // Not kept from record to record: whether two are of one slot is a matter of chance.
                auto& operators = of.operators_of(r.slot);
                ++loads[r.slot];
                at.time = r.time;
                at.next = r.next;
                at.partition = r.partition;
                at.slot = r.slot;
                const auto& key = by::key_of(of.partitioner(), std::as_const(r));
                at.key = &key;
                if constexpr (calls_first) {
                    auto& result = calls_.results()[i];
                    if (result) operators.process(at, *result);
                } else {
                    operators.process(at, r.value);
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

    bool want_due([[maybe_unused]] std::uint32_t slot) override {
        if constexpr (Region::reads_ahead) {
            if (!of_.has_operators(slot)) return false;
            wanted_.slot = slot;
            of_.operators_of(slot).want_due(wanted_, advanced_);
            return true;
        }
        return false;
    }
    void advance([[maybe_unused]] std::uint32_t slot, [[maybe_unused]] event_time before) override {
        if constexpr (Region::reads_ahead) {
            place at;
            at.outlet = &out_;
            at.late = &late_;
            at.watermark = before;
            at.slot = slot;
            of_.operators_of(slot).advance(at, advanced_);
            out_.mark();
        }
    }

    void advance([[maybe_unused]] event_time before) override {
        if constexpr (Region::has_state) {
            place at;
            at.outlet = &out_;
            at.late = &late_;
            at.watermark = before;
            of_.each_of(number_, *owners_, [&](std::uint32_t slot, auto& operators) {
                at.slot = slot;
                operators.advance(at, advanced_);
            });
            out_.mark();
        }
    }

    void save([[maybe_unused]] std::uint64_t barrier) override {
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
    typename Region::outlet_type& out_;
    [[no_unique_address]] region_calls<input, typename Region::called> calls_;
};

template <typename Types, typename Region, typename NextBy>
std::unique_ptr<worker> region_run_of<Types, Region, NextBy>::make_worker(std::size_t number, const job_parts& of) {
    return std::make_unique<worker_of<region_run_of>>(*this, number, of);
}

}  // namespace coflux::stream::detail
