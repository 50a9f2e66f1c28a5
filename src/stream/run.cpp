#include <coflux/stream/detail/job_run.hpp>
#include <coflux/stream/record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/executor/topology.hpp>
#include <coflux/scope/with_scope.hpp>

namespace coflux::stream {

namespace detail {

void set_position(positions& in, std::string partition, std::int64_t next) {
    const auto at = std::ranges::lower_bound(in, partition, {}, &position::partition);
    if (at != in.end() && at->partition == partition) {
        at->next = next;
    } else {
        in.insert(at, {std::move(partition), next});
    }
}

void forget_position(positions& in, const std::string& partition) {
    std::erase_if(in, [&](const position& each) { return each.partition == partition; });
}

namespace {
[[noreturn]] void refuse(const char* option, const char* why) {
    throw std::invalid_argument(std::string("coflux: stream::job::") + option + " " + why);
}

// How many processors this process may use; at least 1.
std::size_t processors() noexcept {
    return topology::of_this_process().worker_count();
}

// Throws std::invalid_argument that names the option which is wrong.
void check(const job_options& of) {
    if (of.slots == 0) refuse("slots", "is 0: a region needs a slot for its state");
    if (of.workers > of.slots) {
        refuse("workers", "is more than job::slots: a worker without a slot would have nothing to do");
    }
    if (of.max_batch == 0) refuse("max_batch", "is 0");
    if (of.queue_batches == 1) refuse("queue_batches", "is 1: one batch is filled while another one is processed");
    if (of.commit_every.count() <= 0) refuse("commit_every", "is not positive");
    if (of.linger.count() < 0) refuse("linger", "is negative");
    if (of.lateness.count() < 0) refuse("lateness", "is negative");
    if (of.idle_after.count() < 0) refuse("idle_after", "is negative");
}

/// A run lets its control know that it has begun, and that it has ended.
class told_run {
public:
    explicit told_run(job_control* control) noexcept : control_(control) {
        if (control_ != nullptr) control_->begin_run();
    }
    told_run(const told_run&) = delete;
    told_run& operator=(const told_run&) = delete;
    ~told_run() {
        if (control_ != nullptr) control_->end_run();
    }

private:
    job_control* control_;
};

}  // namespace

std::size_t batches_of_link(std::size_t max_batch) noexcept {
    constexpr std::size_t records = 2000;
    return std::clamp<std::size_t>(records / max_batch, 2, 8);
}

job_run::job_run(std::size_t regions, job_options options, const job_ends& ends, any_letters* letters, bool skips)
    : options_(std::move(options)),
      control_(options_.control == nullptr ? own_control_.emplace() : *options_.control),
      barriers_(regions),
      policy_{options_.retries, options_.name, skips, letters, ends.source, control_.seen()},
      ends_(ends),
      writer_(ends, options_.slots, policy_, barriers_,
              [this](const std::vector<slot_loads>& loads) { balance(loads); }) {}

call<job_report> job_run::run(environment&) {
    auto& here = co_await context();
    prepare();
    positions at = co_await restore(here);
    bool drained = false;
    std::exception_ptr failed;
    try {
        co_await with_scope(here, [&](task_scope& scope) -> call<void> {
            auto& inside = co_await context();
            for (std::size_t r = 0; r != regions_.size(); ++r) {
                for (std::size_t w = 0; w != regions_[r]->workers(); ++w) {
                    scope.spawn(run_worker, borrowed(*this), r, w);
                }
            }
            scope.spawn(run_writer, borrowed(*this));
            const auto reading =
                make_reader({options_.max_batch, options_.linger, options_.commit_every, options_.lateness,
                             options_.idle_after, options_.control != nullptr, ends_.is_exact},
                            std::move(at));
            drained = co_await reading->run(inside, control_);
        });
    } catch (...) {
        failed = std::current_exception();
    }
    if (failed != nullptr) {
        co_await writer_.abandon(here);
        std::rethrow_exception(failed);
    }
    job_report report = report_of(control_.seen());
    report.drained = drained;
    co_return report;
}

void job_run::prepare() {
    check(options_);
    if (options_.workers == 0) options_.workers = std::min<std::size_t>(processors(), options_.slots);
    if (options_.queue_batches == 0) options_.queue_batches = batches_of_link(options_.max_batch);
    make_regions();
    owners_ = {slot_owners()};
    std::vector<std::size_t> workers;
    for (const auto& each : regions_) {
        owners_.push_back(*each->owners());
        workers.push_back(each->workers());
    }
    control_.seen().begin(workers);
}

void job_run::connect(links& from, region_run& to, std::unique_ptr<parcel> (*make)()) {
    for (std::size_t w = 0; w != to.workers(); ++w) from.connect(to.inbox_of(w).connect(options_.queue_batches, make));
}
void job_run::connect_to_writer(links& from, std::unique_ptr<parcel> (*make)()) {
    from.connect(writer_.in().connect(options_.queue_batches, make));
}

fork<void> job_run::run_worker(environment&, borrowed<job_run> job, std::size_t region, std::size_t number) {
    auto& here = co_await context();
    const auto of =
        job->regions_[region]->make_worker(number, {job->policy_, job->barriers_, job->ends_.store != nullptr});
    co_await of->run(here);
}
fork<void> job_run::run_restorer(environment&, borrowed<region_run> of, borrowed<checkpoint> from, std::size_t number) {
    of->restore(number, from->states);
    co_return;
}
fork<void> job_run::run_writer(environment&, borrowed<job_run> job) {
    auto& here = co_await context();
    co_await job->writer_.run(here);
}

void job_run::balance(const std::vector<slot_loads>& loads) {
    for (const auto& each : regions_) {
        const std::uint32_t number = each->number;
        if (auto better = balanced(owners_[number], loads[number], each->workers())) {
            control_.seen().writer().moves.add(1);
            owners_[number] = *better;
            barriers_.plan(number, *std::move(better));
        }
    }
}

// Exactly once: the sink knows the positions, and the store has the state of them. Where the sink has committed
// nothing, what is in the store is not begun with; it is read nevertheless, for a store of another job says so. At
// least once: the last state has its positions; without a store the source knows its own.
// Returns: where the run begins.
call<positions> job_run::restore(environment&) {
    auto& here = co_await context();
    any_source& source = ends_.source;
    std::optional<positions> at;
    if (ends_.is_exact) at = co_await ends_.sink.committed(here);
    if (ends_.store != nullptr) {
        const positions nothing;
        const bool begins_anew = ends_.is_exact && !at && ends_.store->has_tables();
        auto found = co_await ends_.store->load(here, at ? &*at : begins_anew ? &nothing : nullptr);
        if (ends_.is_exact && !at) found.reset();
        if (found) {
            if (found->slots != options_.slots) {
                throw std::invalid_argument("coflux: the checkpoint of the job \"" + options_.name + "\" has " +
                                            std::to_string(found->slots) + " slots, the job has " +
                                            std::to_string(options_.slots));
            }
            co_await take(here, *found);
            at = std::move(found->at);
        } else if (at && has_state()) {
            throw corrupt_state("coflux: the sink of the job \"" + options_.name +
                                "\" has committed positions of which the store has no checkpoint");
        }
    }
    if (source.can.rewinds && (!at || !source.can.seeks)) {
        const positions from = at ? *std::move(at) : positions();
        co_await source.rewind(here, from);
        co_return from;
    }
    // An earlier run may have read on. A source that commits knows by itself where it begins.
    if (source.can.seeks && (at || !source.can.commits)) co_await source.seek(here, at ? *at : positions());
    co_return at ? *std::move(at) : positions();
}

// Each worker restores its own slots, at once with the others. Nothing is read before all have theirs: an output of a
// job whose state is corrupt would be wrong.
call<void> job_run::take(environment&, checkpoint& from) {
    auto& here = co_await context();
    for (const slot_state& each : from.states) {
        if (each.region == 0 || each.region > regions_.size()) {
            throw corrupt_state("coflux: the checkpoint of the job \"" + options_.name + "\" has a state of region " +
                                std::to_string(each.region) + "; the flow has " + std::to_string(regions_.size()));
        }
    }
    co_await with_scope(here, [&](task_scope& scope) -> call<void> {
        for (const auto& each : regions_) {
            for (std::size_t w = 0; w != each->workers(); ++w) {
                scope.spawn(run_restorer, borrowed(*each), borrowed(from), w);
            }
        }
        co_return;
    });
}

call<job_report> run_job(environment&, std::unique_ptr<job_run> job) {
    auto& here = co_await context();
    const told_run told(job->watched_by());
    const auto running = std::move(job);  // it ends before its control is told
    co_return co_await running->run(here);
}

}  // namespace detail

}  // namespace coflux::stream
