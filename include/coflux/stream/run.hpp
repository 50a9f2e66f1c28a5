// run: a flow becomes a job, which runs until its source ends, it is drained, or it fails.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/detail/any_sink.hpp>
#include <coflux/stream/detail/any_source.hpp>
#include <coflux/stream/detail/job_run.hpp>
#include <coflux/stream/detail/reader_of.hpp>
#include <coflux/stream/detail/region_run.hpp>
#include <coflux/stream/flow.hpp>
#include <coflux/stream/job.hpp>

namespace coflux::stream {

namespace detail {

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

/// A flow and its job, and their source, sink and store as the engine calls them.
template <typename Flow, typename Job>
struct ends_of {
    using source_type = std::remove_reference_t<decltype(Flow::from)>;
    using sink_type = std::remove_reference_t<decltype(Flow::sink)>;
    using sink_value = typename last_types<decltype(Flow::from), decltype(Flow::head), decltype(Flow::regions)>::output;
    using on_error = decltype(Job::on_error);
    static constexpr bool is_exact = std::is_same_v<decltype(Job::delivery), exactly_once_t>;
    static constexpr bool has_store = !std::is_same_v<decltype(Job::state), no_store>;

    ends_of(Flow&& f, Job&& j) : flow(std::move(f)), job(std::move(j)), source(flow.from), sink(flow.sink) {
        if constexpr (has_store) store = std::make_unique<any_store_of<decltype(Job::state)>>(job.state, is_exact);
        if constexpr (has_dead_letters<on_error>) letters = std::make_unique<any_letters_of<on_error>>(job.on_error);
    }

    Flow flow;
    Job job;
    any_source_of<source_type> source;
    any_sink_of<sink_type, sink_value, is_exact && transactional_sink<sink_type>> sink;
    std::unique_ptr<any_store> store;
    std::unique_ptr<any_letters> letters;
};

/// A job of a flow.
template <typename Flow, typename Job>
class job_run_of final : ends_of<Flow, Job>, public job_run {
    using ends = ends_of<Flow, Job>;
    using source_type = typename ends::source_type;
    using sink_type = typename ends::sink_type;
    using store_type = std::unwrap_reference_t<decltype(Job::state)>;
    using head_type = decltype(Flow::head);
    using regions_type = decltype(Flow::regions);
    static constexpr std::size_t count = std::tuple_size_v<regions_type>;

    using head_output = typename output_type<typename source_type::value_type, no_key, head_type>::type;
    template <std::size_t I>
    using region_type =
        region_run_of<typename types_of_region<I, head_output, regions_type>::type,
                      std::tuple_element_t<I, regions_type>, typename by_of_region<I + 1, regions_type>::type>;
    template <typename>
    struct all_regions;
    template <std::size_t... I>
    struct all_regions<std::index_sequence<I...>> {
        using type = std::tuple<region_type<I>*...>;
        static constexpr bool have_state = (region_type<I>::has_state || ...);
        static constexpr bool read_ahead = (region_type<I>::reads_ahead || ...);
    };
    using all = all_regions<std::make_index_sequence<count>>;
    using output = typename region_type<count - 1>::output;
    static_assert(std::is_same_v<output, typename ends::sink_value>);
    using reader_type =
        reader_of<typename source_type::value_type, head_type, typename by_of_region<0, regions_type>::type>;

    static_assert(
        !rebalanced_source<source_type> || !all::have_state,
        "coflux: the partitions of this source may go to another process, and the state of the stages would stay: "
        "let the job have its partitions for itself, or let the stages have no state");
    static_assert(!ends::is_exact || transactional_sink<sink_type>,
                  "coflux: exactly_once needs a sink with transactions: begin(), commit(positions), abort() and "
                  "committed(); this one has none");
    static_assert(!ends::is_exact || seekable_source<source_type>,
                  "coflux: exactly_once needs a source that can begin at a position: seek(positions); this one cannot");
    static_assert(
        !all::have_state || ends::has_store || !(ends::is_exact || committing_source<source_type>),
        "coflux: the source is read on from its last commit, but the state of the stages would be lost: give the "
        "job a .state");
    static_assert(!all::read_ahead || has_tables<store_type>,
                  "coflux: a fold() keeps its states in a table, which is written with the job's checkpoints: give the "
                  "job its database as .state");
    static_assert(!ends::is_exact || !keeps_last_alone<store_type>,
                  "coflux: exactly_once needs a store that keeps the checkpoint before the last one, too, because the "
                  "sink's commit decides between them; this one keeps the last alone, so the job is at_least_once");

public:
    job_run_of(Flow&& f, Job&& j)
        : ends(std::move(f), std::move(j)),
          job_run(count, options_of(this->job), {this->source, this->sink, this->store.get(), ends::is_exact},
                  this->letters.get(), std::is_same_v<decltype(Job::on_error), skip_record>) {}

private:
    void make_regions() override {
        make(std::make_index_sequence<count>());
        auto& first = *std::get<0>(regions_);
        first_.emplace(first.partitioner(), first.owners(), this->options_.max_batch);
        this->connect(*first_, first, &parcel_of<head_output>::make);
        connect_all(std::make_index_sequence<count>());
    }
    std::unique_ptr<reader> make_reader(const paces& pace, positions at) override {
        return std::make_unique<reader_type>(this->source, this->flow.head, *first_, this->barriers_, this->policy_,
                                             pace, std::move(at));
    }
    bool has_state() const noexcept override { return all::have_state; }

    template <std::size_t... I>
    void make(std::index_sequence<I...>) {
        ((std::get<I>(regions_) = &this->add_region(
              std::make_unique<region_type<I>>(std::get<I>(this->flow.regions), I + 1, this->options_.workers,
                                               this->options_.slots, this->options_.state_version))),
         ...);
    }
    template <std::size_t... I>
    void connect_all(std::index_sequence<I...>) {
        (connect_region<I>(), ...);
    }
    template <std::size_t I>
    void connect_region() {
        using outlet_type = typename region_type<I>::outlet_type;
        constexpr auto make = &parcel_of<typename region_type<I>::output>::make;
        auto& from = *std::get<I>(regions_);
        for (std::size_t w = 0; w != from.workers(); ++w) {
            if constexpr (I + 1 == count) {
                this->connect_to_writer(
                    from.add_outlet(std::make_unique<outlet_type>(writer_by_, writer_slots_, this->options_.max_batch)),
                    make);
            } else {
                auto& next = *std::get<I + 1>(regions_);
                this->connect(from.add_outlet(std::make_unique<outlet_type>(next.partitioner(), next.owners(),
                                                                            this->options_.max_batch)),
                              next, make);
            }
        }
    }

    to_one writer_by_;
    std::shared_ptr<const slot_owners> writer_slots_ = std::make_shared<const slot_owners>(1);
    typename all::type regions_;
    std::optional<typename reader_type::outlet_type> first_;
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
        using flow_type = detail::whole_flow<Source, Head, Regions, Sink>;
        return detail::run_job(
            here, std::make_unique<detail::job_run_of<flow_type, Job>>(std::move(flow), std::move(options)));
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
