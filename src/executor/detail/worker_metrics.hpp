// The metrics of executors and of their workers. The page docs/design/metrics.md says where each is counted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <coflux/inspect/metrics.hpp>

#include "busy_clock.hpp"
#include "inspect/metric_source.hpp"

namespace coflux::detail::worker_metrics {

using inspect::metric_family;
using inspect::metric_type;

inline constexpr metric_family resumed{"coflux_worker_resumed", metric_type::counter, "",
                                       "Coroutines that a worker's loop has taken from a queue and resumed."};
inline constexpr metric_family stolen{"coflux_worker_stolen", metric_type::counter, "",
                                      "Coroutines that a worker has taken from another worker."};
inline constexpr metric_family injected{"coflux_worker_injected", metric_type::counter, "",
                                        "Coroutines that a worker has taken from the queue for outsiders."};
inline constexpr metric_family sleeps{"coflux_worker_sleeps", metric_type::counter, "",
                                      "How often a worker has parked."};
inline constexpr metric_family wakes{"coflux_worker_wakes", metric_type::counter, "",
                                     "How often a worker has woken another worker."};
inline constexpr metric_family looks{"coflux_worker_looks", metric_type::counter, "",
                                     "How often a parked worker has looked for work as the look-out and found none."};
inline constexpr metric_family busy{"coflux_worker_busy_seconds", metric_type::counter, "seconds",
                                    "Time that a worker has neither looked for work nor been parked."};
inline constexpr metric_family resume_times{
    "coflux_worker_resume_seconds", metric_type::histogram, "seconds",
    "How long a resumption took, from the worker's loop until it was back there."};
inline constexpr metric_family latencies{"coflux_worker_scheduling_latency_seconds", metric_type::histogram, "seconds",
                                         "How long a coroutine that was ready waited for its turn, by samples."};
inline constexpr metric_family queue_length{"coflux_worker_queue_length", metric_type::gauge, "",
                                            "Coroutines in the worker's own queues."};
inline constexpr metric_family shared_queue_length{"coflux_executor_queue_length", metric_type::gauge, "",
                                                   "Coroutines in a queue that all workers of the executor take from."};
inline constexpr metric_family workers{"coflux_executor_workers", metric_type::gauge, "",
                                       "Threads that the executor's coroutines run on."};

[[nodiscard]] inline std::vector<inspect::metric_label> of_worker(std::size_t position) {
    return {{"worker", std::to_string(position)}};
}

inline void add_busy(metric_snapshot& to, std::size_t position, const busy_clock& clock) {
    to.add(busy, static_cast<double>(clock.read()) / 1e9, of_worker(position));
}

}  // namespace coflux::detail::worker_metrics
