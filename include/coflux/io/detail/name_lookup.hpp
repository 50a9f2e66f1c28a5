// One lookup of a name, and the coroutines that wait for it. The page docs/design/connect.md has its states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/sync/semaphore.hpp>

namespace coflux {

namespace detail {

class name_lookup;

/// The lookups of one resolver. Each of them keeps it alive.
class name_lookups {
public:
    using function = std::function<std::vector<endpoint>(const std::string& host, address_family family)>;
    using key = std::pair<std::string, address_family>;

    name_lookups(std::size_t most, function f) : permits(most), look_up(std::move(f)), most_(most) {}

    [[nodiscard]] std::size_t running() const noexcept { return most_ - permits.available(); }

    semaphore permits;
    const function look_up;

private:
    friend class name_lookup;
    friend class lookup_part;
    const std::size_t most_;
    mutex lock_;                                          // guards shared_
    std::map<key, std::shared_ptr<name_lookup>> shared_;  // that are queued or begun
};

class name_lookup {
public:
    name_lookup(std::shared_ptr<name_lookups> of, name_lookups::key what) noexcept
        : of_(std::move(of)),
          what_(std::move(what)) {}

    /// On a thread that may block: looks the name up, unless the leader has dropped it.
    static void run(const std::shared_ptr<name_lookup>& self) noexcept;

private:
    friend class lookup_part;
    void leave_table() noexcept;

    // state_  | changed by
    // --------|-----------------------------------------------------------------------------------------------
    // queued  | -> begun: run(), by CAS; -> dropped: its leader, by CAS. The thread that changes it sets ended_
    // begun   | the thread has the permit, and will give it back
    // dropped | nothing was asked
    static constexpr std::uint32_t queued = 0;
    static constexpr std::uint32_t begun = 1;
    static constexpr std::uint32_t dropped = 2;
    [[nodiscard]] bool leave_queued(std::uint32_t to) noexcept {
        std::uint32_t s = queued;
        // acq_rel: only so that the reader need not ask what else the two sides share; ended_ orders the result.
        return state_.compare_exchange_strong(s, to, memory_order_acq_rel, memory_order_relaxed);
    }

    atomic<std::uint32_t> state_{queued};
    manual_reset_event ended_;
    const std::shared_ptr<name_lookups> of_;
    const name_lookups::key what_;
    std::vector<endpoint> found_;  // this and the next two are written before ended_ is set
    std::error_code code_;         // of a std::system_error: each waiter throws one of its own
    std::exception_ptr error_;     // of anything else
};

/// One coroutine's part in a lookup: it leads it, or waits for it.
class lookup_part {
public:
    /// Errors: std::bad_alloc.
    lookup_part(const std::shared_ptr<name_lookups>& of, name_lookups::key what);
    lookup_part(const lookup_part&) = delete;
    lookup_part& operator=(const lookup_part&) = delete;
    /// Another one leads, if this is a leader whose lookup has not begun.
    ~lookup_part();

    [[nodiscard]] bool leads() const noexcept { return leads_; }
    void has_permit() noexcept { has_permit_ = true; }
    [[nodiscard]] const std::shared_ptr<name_lookup>& lookup() const noexcept { return lookup_; }
    [[nodiscard]] auto ended() noexcept { return lookup_->ended_.wait(); }
    /// Once it has ended; none if it was dropped.
    /// Errors: those of the lookup.
    [[nodiscard]] std::optional<std::vector<endpoint>> result(std::uint16_t port) const;

private:
    std::shared_ptr<name_lookup> lookup_;
    bool leads_ = false;
    bool has_permit_ = false;
};

/// Endpoints of a host that is a number; none if it is a name.
/// Errors: std::system_error for a number that is no address.
[[nodiscard]] std::optional<std::vector<endpoint>> numeric_endpoints(std::string_view host, std::uint16_t port,
                                                                     address_family family);
/// By getaddrinfo(3).
[[nodiscard]] std::vector<endpoint> look_up_by_system(const std::string& host, address_family family);

}  // namespace detail
}  // namespace coflux
