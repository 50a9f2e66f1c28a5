#include <coflux/stream/detail/worker.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/executor/blocking_pool.hpp>

namespace coflux::stream::detail {

region_run::region_run(std::uint32_t number, std::size_t workers, std::uint32_t slots, std::uint32_t state_version)
    : number(number),
      state_version(state_version),
      inboxes_(workers),
      meeting_(workers) {
    slot_owners first(slots);
    for (std::size_t s = 0; s != first.size(); ++s) first[s] = first_owner(s);
    owners_ = std::make_shared<const slot_owners>(std::move(first));
}

void region_run::restore(std::size_t worker, std::vector<slot_state>& from) {
    for (slot_state& each : from) {
        if (each.region != number || first_owner(each.slot) != worker) continue;
        restore(each);
        each.bytes = std::vector<std::byte>();  // the next table has use for the memory
    }
}

void region_run::restore(const slot_state& from) {
    if (from.slot >= slots()) throw corrupt_state("coflux: a stored state of slot " + std::to_string(from.slot));
    state_reader in(from.bytes);
    in.set_version(in.number<std::uint32_t>());
    if (in.version() > state_version) {
        throw corrupt_state("coflux: the stored state of slot " + std::to_string(from.slot) + " of region " +
                            std::to_string(number) + " is of version " + std::to_string(in.version()) +
                            "; job::state_version is " + std::to_string(state_version));
    }
    load(from.slot, in);
    if (in.left() != 0) {
        throw corrupt_state("coflux: the stored state of slot " + std::to_string(from.slot) + " of region " +
                            std::to_string(number) + " has " + std::to_string(in.left()) +
                            " bytes more than its stages read: it is that of another flow");
    }
}

worker::worker(region_run& of, std::size_t number, links& out, const job_parts& parts, bool calls_first,
               bool reads_ahead)
    : number_(number),
      late_(parts.policy.seen),
      hot_keys_(number),
      failures_(parts.policy, "region " + std::to_string(of.number), static_cast<std::uint32_t>(number),
                parts.policy.seen.worker(of.number, number)),
      owners_(of.owners()),
      loads_(of.slots()),
      barriers_(parts.on_their_way),
      of_(of),
      in_(of.inbox_of(number)),
      out_(out),
      counts_(parts.policy.seen.worker(of.number, number)),
      times_(counts_),
      keeps_state_(parts.keeps_state),
      calls_first_(calls_first),
      reads_ahead_(reads_ahead) {}

call<void> worker::run(environment&) {
    auto& here = co_await context();
    for (;;) {
        parcel* got = in_.try_next();
        if (got == nullptr) {
            out_.send_all(advanced_);
            publish_counts();
            do {
                got = *co_await in_.receive();
            } while (in_.holds_back(*got));
        }
        if (out_.must_wait()) co_await out_.refill(here);
        times_.begin();
        const std::size_t size = look(*got);
        if (calls_first_) co_await call_first(here, *got);
        if (reads_ahead_) co_await read_ahead(here, *got);
        for (std::size_t i = 0; (i = process(*got, i)) != size;) {
            const bool again = co_await failures_.try_again(here, got->head_of(i).partition);
            if (!again) {
                co_await failures_.give_up(here, got->head_of(i), error_);
                ++i;
            }
        }
        times_.end(size);
        records_ += size;
        ++batches_;
        if (in_.watermark() > advanced_) {
            const event_time before = std::exchange(advanced_, in_.watermark());
            if (reads_ahead_) {
                co_await advance_ahead(here, before);
            } else {
                advance(before);
            }
        }
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

call<void> worker::read_ahead(environment&, parcel& records) {
    ++wanted_.batch;
    wanted_.from.clear();
    want(records);
    if (!wanted_.from.empty()) co_await read_wanted(co_await context());
}

call<void> worker::read_wanted(environment&) {
    co_await wanted_.from.front()->pool().run([this] {
        for (outside_state* const each : wanted_.from) each->read();
    });
}

call<void> worker::advance_ahead(environment&, event_time before) {
    auto& here = co_await context();
    for (std::uint32_t slot = 0; slot != owners_->size(); ++slot) {
        if ((*owners_)[slot] != number_) continue;
        for (bool is_due = true; is_due;) {
            wanted_.from.clear();
            if (!want_due(slot)) break;
            is_due = !wanted_.from.empty();
            if (is_due) co_await read_wanted(here);
            advance(slot, before);
            out_.send_full(before);  // more results of this watermark will come
            if (out_.must_wait()) co_await out_.refill(here);
        }
    }
}

void worker::publish_counts() noexcept {
    counts_.records.set(records_);
    counts_.batches.set(batches_);
    counts_.sent.set(out_.sent());
    counts_.watermark.set(advanced_);
    counts_.late.set(late_.all());
    late_.publish();
}

}  // namespace coflux::stream::detail
