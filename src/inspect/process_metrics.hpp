// The metrics of what a process has one of.
#pragma once

namespace coflux::detail {

class metric_snapshot;

/// Errors: std::bad_alloc.
void add_process_metrics(metric_snapshot& to);

}  // namespace coflux::detail
