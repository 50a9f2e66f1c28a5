#include <coflux/stream/arrival_times.hpp>

#include <chrono>
#include <stdexcept>

#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::stream::detail {

event_time time_of_day() noexcept {
    if (const auto* const simulated = coflux::detail::this_thread.driver) {
        return event_time(std::chrono::nanoseconds(simulated->now()));
    }
    return std::chrono::time_point_cast<event_time::duration>(std::chrono::system_clock::now());
}

void check_arrival(std::chrono::nanoseconds every) {
    if (every.count() <= 0) throw std::invalid_argument("coflux: arrival_times::every is not positive");
}

}  // namespace coflux::stream::detail
