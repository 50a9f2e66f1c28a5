// run: a flow becomes a job, which runs until its source ends, it is drained, or it fails.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/scope/with_scope.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/detail/reader.hpp>
#include <coflux/stream/detail/region_run.hpp>
#include <coflux/stream/detail/writer.hpp>
#include <coflux/stream/flow.hpp>
#include <coflux/stream/job.hpp>

namespace coflux::stream {

namespace detail {

/// How many processors this process may use; at least 1.
[[nodiscard]] std::size_t processors() noexcept;
/// How many buffers a link has where the job does not say it.
[[nodiscard]] std::size_t batches_of_link(std::size_t max_batch) noexcept;
/// Throws std::invalid_argument that names the option which is wrong.
void check_options(std::size_t workers, std::uint32_t slots, std::size_t max_batch, std::size_t queue_batches,
                   std::chrono::nanoseconds commit_every, std::chrono::nanoseconds lateness);

template <typename Regions>
struct partitioner_behind;

/// The types of region `I`: its input is the output of the one before.
template <std::size_t I, typename In, typename Regions>
struct types_of_region
    : types_of_region<I - 1, typename region_types<In, std::tuple_element_t<0, Regions>>::output,
                      decltype(part_of<1>(std::declval<Regions>(),
                                          std::make_index_sequence<std::tuple_size_v<Regions> - 1>()))> {};
template <typename In, typename Regions>
struct types_of_region<0, In, Regions> {
    using type = region_types<In, std::tuple_element_t<0, Regions>>;
};

template <std::size_t I, typename Regions>
struct by_of_region {
    using type = to_one;
};
template <std::size_t I, typename Regions>
    requires(I < std::tuple_size_v<Regions>)
struct by_of_region<I, Regions> {
    using type = std::remove_cvref_t<decltype(std::declval<std::tuple_element_t<I, Regions>>().by)>;
};

/// A job while it runs.
template <typename Flow, typename Job>
class job_run {
    using source_type = std::remove_reference_t<decltype(Flow::from)>;
    using sink_type = std::remove_reference_t<decltype(Flow::sink)>;
    using head_type = decltype(Flow::head);
    using regions_type = decltype(Flow::regions);
    using on_error = decltype(Job::on_error);
    static constexpr std::size_t count = std::tuple_size_v<regions_type>;
    static constexpr bool is_exact = std::is_same_v<decltype(Job::delivery), exactly_once_t>;
    static constexpr bool has_store = !std::is_same_v<decltype(Job::state), no_store>;

    using head_output = typename output_type<typename source_type::value_type, no_key, head_type>::type;
    template <std::size_t I>
    using region_type =
        region_run<typename types_of_region<I, head_output, regions_type>::type, std::tuple_element_t<I, regions_type>,
                   typename by_of_region<I + 1, regions_type>::type>;
    template <typename>
    struct all_regions;
    template <std::size_t... I>
    struct all_regions<std::index_sequence<I...>> {
        using type = std::tuple<std::unique_ptr<region_type<I>>...>;
        static constexpr bool have_state = (region_type<I>::has_state || ...);
    };
    using all = all_regions<std::make_index_sequence<count>>;
    using output = typename region_type<count - 1>::output;
    using writer_type = writer<output, source_type, sink_type, Job>;
    using reader_type = reader<source_type, head_type, typename by_of_region<0, regions_type>::type, Job>;

    static_assert(
        !rebalanced_source<source_type> || !all::have_state,
        "coflux: the partitions of this source may go to another process, and the state of the stages would stay: "
        "let the job have its partitions for itself, or let the stages have no state");
    static_assert(!is_exact || transactional_sink<sink_type>,
                  "coflux: exactly_once needs a sink with transactions: begin(), commit(positions), abort() and "
                  "committed(); this one has none");
    static_assert(!is_exact || seekable_source<source_type>,
                  "coflux: exactly_once needs a source that can begin at a position: seek(positions); this one cannot");
    static_assert(
        !all::have_state || has_store || !(is_exact || committing_source<source_type>),
        "coflux: the source is read on from its last commit, but the state of the stages would be lost: give the "
        "job a .state");

public:
    job_run(Flow& f, Job& j)
        : flow_(f),
          job_(j),
          control_(j.control == nullptr ? own_control_.emplace() : *j.control),
          policy_{j.on_error, j.retries, j.name, [this](std::uint32_t p) { return flow_.from.partition_name(p); },
                  control_.seen()},
          writer_(flow_.from, flow_.sink, job_, policy_, barriers_,
                  [this](const std::vector<slot_loads>& loads) { balance(loads, std::make_index_sequence<count>()); }) {
        check_options(job_.workers, job_.slots, job_.max_batch, job_.queue_batches, job_.commit_every, job_.lateness);
        if (job_.workers == 0) job_.workers = std::min<std::size_t>(processors(), job_.slots);
        if (job_.queue_batches == 0) job_.queue_batches = batches_of_link(job_.max_batch);
        make_regions(std::make_index_sequence<count>());
        copy_owners(std::make_index_sequence<count>());
        connect(std::make_index_sequence<count>());
        begin_counts(std::make_index_sequence<count>());
    }

    [[nodiscard]] call<job_report> run(environment&) {
        auto& here = co_await context();
        positions at = co_await restore(here);
        bool drained = false;
        std::exception_ptr failed;
        try {
            co_await with_scope(here, [&](task_scope& scope) -> call<void> {
                auto& inside = co_await context();
                spawn(scope, std::make_index_sequence<count>());
                scope.spawn(run_writer, borrowed(*this));
                reader_type reading(flow_.from, flow_.head, *first_, barriers_, policy_,
                                    {job_.max_batch, job_.linger, job_.commit_every, job_.lateness, job_.idle_after,
                                     job_.control != nullptr},
                                    std::move(at));
                drained = co_await reading.run(inside, control_);
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

private:
    template <std::size_t I>
    static fork<void> run_worker(environment&, borrowed<job_run> job, std::size_t number) {
        auto& here = co_await context();
        region_worker<region_type<I>, on_error> worker(*std::get<I>(job->regions_), number, job->policy_,
                                                       job->barriers_, has_store);
        co_await worker.run(here);
    }
    template <std::size_t I>
    static fork<void> run_restorer(environment&, borrowed<job_run> job, borrowed<checkpoint> from, std::size_t number) {
        std::get<I>(job->regions_)->restore(number, from->states);
        co_return;
    }
    static fork<void> run_writer(environment&, borrowed<job_run> job) {
        auto& here = co_await context();
        co_await job->writer_.run(here);
    }

    template <std::size_t... I>
    void make_regions(std::index_sequence<I...>) {
        ((std::get<I>(regions_) = std::make_unique<region_type<I>>(std::get<I>(flow_.regions), I + 1, job_.workers,
                                                                   job_.slots, job_.state_version)),
         ...);
    }
    template <std::size_t... I>
    void copy_owners(std::index_sequence<I...>) {
        owners_ = {slot_owners(), *std::get<I>(regions_)->owners()...};
    }
    template <std::size_t... I>
    void begin_counts(std::index_sequence<I...>) {
        const std::array<std::size_t, count> workers{std::get<I>(regions_)->workers()...};
        control_.seen().begin(workers);
    }
    // After a commit: slots move from workers that have much more to do than others, at the next barrier.
    template <std::size_t... I>
    void balance(const std::vector<slot_loads>& loads, std::index_sequence<I...>) {
        (balance_region(I + 1, std::get<I>(regions_)->workers(), loads[I + 1]), ...);
    }
    void balance_region(std::uint32_t number, std::size_t workers, const slot_loads& loads) {
        if (auto better = balanced(owners_[number], loads, workers)) {
            control_.seen().writer().moves.add(1);
            owners_[number] = *better;
            barriers_.plan(number, *std::move(better));
        }
    }
    template <std::size_t... I>
    void connect(std::index_sequence<I...>) {
        auto& first = *std::get<0>(regions_);
        first_ =
            std::make_unique<typename reader_type::outlet_type>(first.partitioner(), first.owners(), job_.max_batch);
        for (std::size_t w = 0; w != first.workers(); ++w) {
            first_->connect(first.inbox_of(w).connect(job_.queue_batches));
        }
        (connect_region<I>(), ...);
    }
    template <std::size_t I>
    void connect_region() {
        auto& from = *std::get<I>(regions_);
        for (std::size_t w = 0; w != from.workers(); ++w) {
            if constexpr (I + 1 == count) {
                auto& out = from.add_outlet(
                    std::make_unique<typename region_type<I>::outlet_type>(writer_by_, writer_slots_, job_.max_batch));
                out.connect(writer_.in().connect(job_.queue_batches));
            } else {
                auto& next = *std::get<I + 1>(regions_);
                auto& out = from.add_outlet(std::make_unique<typename region_type<I>::outlet_type>(
                    next.partitioner(), next.owners(), job_.max_batch));
                for (std::size_t n = 0; n != next.workers(); ++n) {
                    out.connect(next.inbox_of(n).connect(job_.queue_batches));
                }
            }
        }
    }
    template <std::size_t... I>
    void spawn(task_scope& scope, std::index_sequence<I...>) {
        (spawn_region<I>(scope), ...);
    }
    template <std::size_t I>
    void spawn_region(task_scope& scope) {
        for (std::size_t w = 0; w != std::get<I>(regions_)->workers(); ++w) {
            scope.spawn(run_worker<I>, borrowed(*this), w);
        }
    }

    // Exactly once: the sink knows the positions, and the store has the state of them. At least once: the last state
    // has its positions; without a store the source knows its own.
    // Returns: where the run begins.
    [[nodiscard]] call<positions> restore(environment&) {
        auto& here = co_await context();
        std::optional<positions> at;
        if constexpr (is_exact) at = co_await flow_.sink.committed(here);
        if constexpr (has_store) {
            if (at.has_value() || !is_exact) {
                auto found = co_await store_of(job_.state).load(here, at ? &*at : nullptr);
                if (found) {
                    if (found->slots != job_.slots) {
                        throw std::invalid_argument("coflux: the checkpoint of the job \"" + job_.name + "\" has " +
                                                    std::to_string(found->slots) + " slots, the job has " +
                                                    std::to_string(job_.slots));
                    }
                    co_await take(here, *found, std::make_index_sequence<count>());
                    at = std::move(found->at);
                } else if (at && all::have_state) {
                    throw corrupt_state("coflux: the sink of the job \"" + job_.name +
                                        "\" has committed positions of which the store has no checkpoint");
                }
            }
        }
        if constexpr (rewinding_source<source_type>) {
            if (!at || !seekable_source<source_type>) {
                const positions from = at ? *std::move(at) : positions();
                co_await flow_.from.rewind(here, from);
                co_return from;
            }
        }
        if constexpr (seekable_source<source_type>) {
            // An earlier run may have read on. A source that commits knows by itself where it begins.
            if (at || !committing_source<source_type>) co_await flow_.from.seek(here, at ? *at : positions());
        }
        co_return at ? *std::move(at) : positions();
    }
    // Each worker restores its own slots, at once with the others. Nothing is read before all have theirs: an output of
    // a job whose state is corrupt would be wrong.
    template <std::size_t... I>
    [[nodiscard]] call<void> take(environment&, checkpoint& from, std::index_sequence<I...>) {
        auto& here = co_await context();
        for (const slot_state& each : from.states) {
            if (each.region == 0 || each.region > count) {
                throw corrupt_state("coflux: the checkpoint of the job \"" + job_.name + "\" has a state of region " +
                                    std::to_string(each.region) + "; the flow has " + std::to_string(count));
            }
        }
        co_await with_scope(here, [&](task_scope& scope) -> call<void> {
            (spawn_restorers<I>(scope, from), ...);
            co_return;
        });
    }
    template <std::size_t I>
    void spawn_restorers(task_scope& scope, checkpoint& from) {
        for (std::size_t w = 0; w != std::get<I>(regions_)->workers(); ++w) {
            scope.spawn(run_restorer<I>, borrowed(*this), borrowed(from), w);
        }
    }

    Flow& flow_;
    Job& job_;
    std::optional<job_control> own_control_;
    job_control& control_;
    barriers barriers_{count};
    failure_policy<on_error> policy_;
    writer_type writer_;
    to_one writer_by_;
    std::shared_ptr<const slot_owners> writer_slots_ = std::make_shared<const slot_owners>(1);
    typename all::type regions_;
    std::vector<slot_owners> owners_;  // of each region, as planned
    std::unique_ptr<typename reader_type::outlet_type> first_;
};

template <typename Job>
struct check_job;
template <typename Delivery, typename OnError, typename Store>
struct check_job<job<Delivery, OnError, Store>> {
    static constexpr bool delivers =
        std::is_same_v<Delivery, at_least_once_t> || std::is_same_v<Delivery, exactly_once_t>;
    static constexpr bool decides =
        !has_dead_letters<OnError> || requires(OnError& on_error, environment& here, dead_letter letter) {
            on_error.put(here, std::move(letter));
            on_error.flush(here);
        };
    static constexpr bool stores = std::is_same_v<Store, no_store> || state_store<std::unwrap_reference_t<Store>>;
    static constexpr bool ok = delivers && decides && stores;
    static void say() {
        static_assert(delivers, "coflux: job::delivery is stream::at_least_once or stream::exactly_once");
        static_assert(
            decides,
            "coflux: job::on_error is stream::fail_job{}, stream::skip_record{} or stream::dead_letters(sink), "
            "and no function: a job must know whether it goes on");
        static_assert(stores,
                      "coflux: job::state is no store of checkpoints: it needs call<void> store(environment&, const "
                      "stream::checkpoint&) and call<std::optional<stream::checkpoint>> load(environment&, const "
                      "stream::positions*)");
    }
};

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

template <typename Flow, typename Job>
call<job_report> run_flow(environment&, Flow f, Job j) {
    auto& here = co_await context();
    const told_run told(j.control);
    job_run<Flow, Job> running(f, j);
    co_return co_await running.run(here);
}

}  // namespace detail

/// Runs a flow: `co_await stream::run(here, from(orders) | by_key(&order::customer) | count() | to(sink),
/// stream::job{.workers = 4});`
///
/// Shapes: the flow is moved in; its source and sink, where they have names, and what the job refers to, outlive the
/// await.
/// Returns: a job_report, when the source has ended or the job is drained, all is processed, and the last commit is
/// done.
/// Errors: the first error that the job's policy does not take: of the source, a stage, the sink, the store, or a
/// commit. std::invalid_argument for an option that cannot be; corrupt_state for a checkpoint that is not of this flow.
/// Stops: all its waits are stop points. A stop loses what is not committed; the next run reads it again. To end with
/// all that was read, drain() it.
/// Threads: workers are forks on the executor of the awaiting coroutine.
/// Costs: design/stream.md.
template <typename Source, typename Head, typename Regions, typename Sink, typename Job = job<>>
[[nodiscard("a job that is not awaited never begins: co_await it")]] call<job_report>
run(environment& here, detail::whole_flow<Source, Head, Regions, Sink> flow, Job options = {}) {
    if constexpr (detail::check_job<Job>::ok) {
        return detail::run_flow(here, std::move(flow), std::move(options));
    } else {
        detail::check_job<Job>::say();
    }
}

/// Says what is missing.
template <typename Source, typename Head, typename Regions, typename Job = job<>>
[[nodiscard]] call<job_report> run(environment&, detail::open_flow<Source, Head, Regions>, Job = {}) {
    static_assert(!std::is_same_v<Job, Job>, "coflux: the flow has no sink: end it with | stream::to(sink)");
    __builtin_unreachable();
}
/// The flow has said what is wrong.
template <typename Job = job<>>
[[nodiscard]] call<job_report> run(environment&, detail::wrong_flow, Job = {});

}  // namespace coflux::stream
