#include "process_metrics.hpp"

#include <coflux/memory/frame_pool.hpp>

#include "metric_source.hpp"
#include "time/detail/timer_service.hpp"
#include "timer_metrics.hpp"

namespace coflux::detail {
namespace {

using inspect::metric_family;
using inspect::metric_type;

constexpr metric_family frame_slab_bytes{"coflux_frame_slab_bytes", metric_type::gauge, "bytes",
                                         "Memory that the frame pool has taken from the heap and not given back."};
constexpr metric_family frame_slabs_acquired{"coflux_frame_slabs_acquired", metric_type::counter, "",
                                             "Slabs that the frame pool has taken from the heap."};
constexpr metric_family frame_slabs_released{"coflux_frame_slabs_released", metric_type::counter, "",
                                             "Slabs that the frame pool has given back to the heap."};

}  // namespace

void add_process_metrics(metric_snapshot& to) {
    const frame_pool_stats frames = frame_pool::shared().stats();
    to.add(frame_slab_bytes, std::uint64_t{frames.slab_bytes});
    to.add(frame_slabs_acquired, std::uint64_t{frames.slabs_acquired});
    to.add(frame_slabs_released, std::uint64_t{frames.slabs_released});
    if (const timer_counts* const timers = timer_service::counts_of_process()) timer_metrics::add(to, *timers, {});
}

}  // namespace coflux::detail
