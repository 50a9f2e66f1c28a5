// Counters of the runtime: as text in the OpenMetrics format, and one by one for other libraries of metrics.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace coflux::inspect {

/// The kind of a metric, as OpenMetrics names it.
enum class metric_type {
    counter,    ///< grows; starts anew with the object that it is of
    gauge,      ///< a present value
    histogram,  ///< how often a quantity was within which limits
};

/// The common part of all metrics of one name. docs/howto/metrics.md has a table of those that there are.
struct metric_family {
    std::string_view name;  ///< with its unit as suffix, if it has one, and without "_total"
    metric_type type;
    std::string_view unit;  ///< "seconds", "bytes"; empty: it counts what its name says
    std::string_view help;  ///< one sentence
};

/// One of the names and values that tell the metrics of a family apart.
struct metric_label {
    std::string_view name;
    std::string value;
};

/// A part of a histogram.
struct metric_bucket {
    double at_most;       ///< its upper limit; infinite in the last one
    std::uint64_t count;  ///< of all quantities up to that limit
};

/// A value at one moment.
struct metric {
    const metric_family& family;           ///< lives as long as the program
    std::span<const metric_label> labels;  ///< no two metrics of a family have the same
    double value;                          ///< of a histogram: the sum of the quantities
    std::span<const metric_bucket> buckets;
};

}  // namespace coflux::inspect

namespace coflux::detail {

void visit_metrics(void* to, void (*visit)(void* to, const inspect::metric& m));
void write_metrics(void* to, void (*write)(void* to, std::string_view text));

}  // namespace coflux::detail

namespace coflux::inspect {

/// Calls `f(const metric&)` for each value that the runtime counts: those of its executors, timers and memory.
///
/// Counters are read one after the other while the program goes on: they need not fit together to the last count.
/// Nothing is stopped or woken for it, and a counter never goes back.
///
/// Shapes: families come in the order of their names, the metrics of one in a row. Labels and buckets live during the
/// call alone.
/// Errors: std::bad_alloc, and what `f` throws.
/// Threads: any. No lock is held while `f` runs.
/// Costs: about 0.3 us a metric; a worker has 8 to 11.
/// Example: examples/64_metrics.cpp
template <std::invocable<const metric&> F>
void for_each_metric(F&& f) {
    auto call = [&f](const metric& m) { (void)f(m); };
    detail::visit_metrics(&call, [](void* to, const metric& m) { (*static_cast<decltype(call)*>(to))(m); });
}

/// Writes all metrics as text in the OpenMetrics format, which ends with "# EOF": the answer to a scrape of Prometheus,
/// of the type "application/openmetrics-text; version=1.0.0; charset=utf-8".
///
/// Shapes: `sink(std::string_view)` is called several times, with some KiB at most.
/// Errors: std::bad_alloc, and what `sink` throws.
/// Threads, Costs: as for_each_metric().
/// Example: examples/64_metrics.cpp
template <std::invocable<std::string_view> Sink>
void write_openmetrics(Sink&& sink) {
    auto call = [&sink](std::string_view text) { (void)sink(text); };
    detail::write_metrics(&call, [](void* to, std::string_view text) { (*static_cast<decltype(call)*>(to))(text); });
}

/// The same text, as a whole.
/// Errors: std::bad_alloc.
[[nodiscard]] std::string openmetrics_text();

}  // namespace coflux::inspect
