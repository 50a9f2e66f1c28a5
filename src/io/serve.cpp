#include <coflux/io/serve.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <system_error>

#include "os/fs/spare_descriptor.hpp"
#include "os/net/socket.hpp"

namespace coflux::detail {
namespace {

/// Errors of single connections before the accept loop waits: a lasting one must not spin, and those of a few clients
/// must not keep others waiting.
constexpr std::size_t most_failed = 16;

enum class trouble : std::uint8_t { of_one_connection, no_descriptors, no_memory, of_the_listener };

trouble trouble_of(const std::error_code& error) noexcept {
    // [io.accept.no_descriptors]
    if (error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system)
        return trouble::no_descriptors;
    if (error == std::errc::no_buffer_space || error == std::errc::not_enough_memory) return trouble::no_memory;
    // Errors of accept(2) that concern a connection or its network, and go with it; EPERM: a firewall's. One that lasts
    // is found by its number in a row.
    for (const std::errc of_one :
         {std::errc::connection_aborted, std::errc::connection_reset, std::errc::protocol_error,
          std::errc::no_protocol_option, std::errc::operation_not_permitted, std::errc::operation_not_supported,
          std::errc::timed_out, std::errc::network_down, std::errc::network_unreachable, std::errc::host_unreachable,
          std::errc::interrupted}) {
        if (error == of_one) return trouble::of_one_connection;
    }
    // Those that std::errc does not name: EHOSTDOWN, ENONET.
    const bool is_of_system = error.category() == std::system_category() || error.category() == std::generic_category();
    if (is_of_system && os::is_of_one_connection(-error.value())) return trouble::of_one_connection;
    return trouble::of_the_listener;
}
trouble trouble_of(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        return trouble::no_memory;
    } catch (const std::system_error& e) {
        return trouble_of(e.code());
    } catch (...) {
        return trouble::of_the_listener;
    }
}

serve_options checked(serve_options options) noexcept {
    COFLUX_VERIFY(options.limit != 0, "serve() with a limit of no connections would never accept one");
    options.limit = std::min(options.limit, std::numeric_limits<std::size_t>::max() / 4);  // what a semaphore can count
    return options;
}

}  // namespace

serve_state::serve_state(const serve_options& given, environment& accepting) noexcept
    : options(checked(given)),
      slots(options.limit),
      accepting_(accepting),
      delay_(options.first_delay) {
    restore_spare();
}
serve_state::~serve_state() {
    if (failure* const untold = thrown_.release(); untold != nullptr) untold->release();
    if (spare_ >= 0) os::close_descriptor(spare_);
}

after_accept serve_state::after(const std::exception_ptr& error) noexcept {
    switch (trouble_of(error)) {
    case trouble::of_one_connection:
        if (++failed_in_a_row_ % most_failed != 0) return after_accept::again;
        return failed_in_a_row_ / most_failed > options.most_delays ? after_accept::end : after_accept::later;
    case trouble::no_descriptors:
        if (spare_ < 0) return after_accept::later;
        os::close_descriptor(std::exchange(spare_, -1));
        return after_accept::again;
    case trouble::no_memory: return after_accept::later;
    case trouble::of_the_listener: break;
    }
    return after_accept::end;
}

void serve_state::restore_spare() noexcept {
    if (options.refuse_when_full && spare_ < 0) spare_ = os::open_spare_descriptor();
}
bool serve_state::has_room() noexcept {
    failed_in_a_row_ = 0;
    restore_spare();
    return !options.refuse_when_full || spare_ >= 0;
}

void serve_state::accepted() noexcept {
    delay_ = options.first_delay;
    const std::size_t now = options.limit - slots.available();
    const lock_guard<mutex> held(lock_);
    ++report_.accepted;
    report_.peak = std::max(report_.peak, now);
}
void serve_state::not_begun() noexcept {
    const lock_guard<mutex> held(lock_);
    --report_.accepted;
    ++report_.refused;
}
void serve_state::refused() noexcept {
    restore_spare();
    count(&serve_report::refused);
}

std::chrono::nanoseconds serve_state::next_delay() noexcept {
    count(&serve_report::backed_off);
    const std::chrono::nanoseconds now = std::min(delay_, options.longest_delay);
    delay_ = now > options.longest_delay / 2 ? options.longest_delay : 2 * now;
    return now;
}

void serve_state::count(std::uint64_t serve_report::* field) noexcept {
    const lock_guard<mutex> held(lock_);
    ++(report_.*field);
}

void serve_state::note(const std::exception_ptr& error) noexcept {
    {
        const lock_guard<mutex> held(lock_);
        if (report_.first_error == nullptr) report_.first_error = error;
    }
    if (!options.on_error) return;
    try {
        options.on_error(error);
    } catch (...) {
        {
            const lock_guard<mutex> held(lock_);
            thrown_.add(*current_failure());
        }
        accepting_.request_stop();
    }
}

serve_report serve_state::report() {
    const lock_guard<mutex> held(lock_);
    if (failure* const thrown = thrown_.release(); thrown != nullptr) thrown->rethrow();
    return report_;
}

}  // namespace coflux::detail
