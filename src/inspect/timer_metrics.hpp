// The metrics of timers.
#pragma once

#include <string>
#include <vector>

#include <coflux/inspect/metrics.hpp>
#include <coflux/time/detail/timer_counts.hpp>

#include "metric_source.hpp"

namespace coflux::detail::timer_metrics {

using inspect::metric_family;
using inspect::metric_type;

inline constexpr metric_family armed{"coflux_timers_armed", metric_type::counter, "",
                                     "Sleeps and limits that were armed."};
inline constexpr metric_family fired{"coflux_timers_fired", metric_type::counter, "",
                                     "Armed sleeps and limits whose time has come."};
inline constexpr metric_family cancelled{"coflux_timers_cancelled", metric_type::counter, "",
                                         "Armed sleeps and limits that were taken back before their time."};

/// Errors: std::bad_alloc.
inline void add(metric_snapshot& to, const timer_counts& counts, const std::vector<inspect::metric_label>& labels) {
    to.add(armed, counts.armed(), labels);
    to.add(fired, counts.fired(), labels);
    to.add(cancelled, counts.cancelled(), labels);
}

}  // namespace coflux::detail::timer_metrics
