#include "socket_settings.hpp"

#include <chrono>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace coflux::detail {
namespace {

template <std::integral N>
int bounded(N value, int least, int most, const char* what) {
    if (std::cmp_less(value, least) || std::cmp_greater(value, most))
        throw std::invalid_argument(std::string("coflux: ") + what + " of a socket is " + std::to_string(value) +
                                    ", and may be " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<int>(value);
}
int seconds_of(std::chrono::seconds s, const char* what) {
    return bounded(s.count(), 1, 32'767, what);
}

}  // namespace

int checked_backlog(int backlog) {
    return bounded(backlog, 0, std::numeric_limits<int>::max(), "backlog");
}

os::socket_settings settings_of(const socket_options& options) {
    constexpr int most = std::numeric_limits<int>::max() / 2;
    os::socket_settings to;
    if (options.no_delay.has_value()) to.no_delay = *options.no_delay ? 1 : 0;
    if (const auto& alive = options.keep_alive; alive.has_value()) {
        to.keep_alive_count = bounded(alive->count, 0, 127, "keep_alive_times::count");
        to.keep_alive_idle = seconds_of(alive->idle, "keep_alive_times::idle");
        to.keep_alive_interval = seconds_of(alive->interval, "keep_alive_times::interval");
    }
    if (options.send_buffer.has_value()) to.send_buffer = bounded(*options.send_buffer, 1, most, "send_buffer");
    if (options.receive_buffer.has_value())
        to.receive_buffer = bounded(*options.receive_buffer, 1, most, "receive_buffer");
    if (options.dscp.has_value()) to.traffic_class = bounded(*options.dscp, 0, 63, "dscp") << 2;
    return to;
}

void change_settings(const descriptor_handle& socket, const socket_options& options) {
    descriptor& on = socket.get();
    const char* failed = "";
    const int e = on.calls.change_settings(on.number, settings_of(options), failed);
    if (e < 0) throw_io_error(e, failed, on.peer);
}

}  // namespace coflux::detail
