// Which event sources the process has. The page docs/design/io_uring.md says why.
#include <coflux/io/backend.hpp>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "epoll/epoll_source.hpp"
#include "io/detail/io_source.hpp"
#include "uring/uring_source.hpp"

namespace coflux {
namespace detail {
namespace {

constexpr bool prefers_uring = true;

struct choice {
    io_backend_report report;
    ring_rung rung = ring_rung::plain;  // of a source with one thread
    bool is_forced = false;
};

/// For tests: the rung of the ladder to begin with.
ring_rung first_rung() noexcept {
    const char* const asked = std::getenv("COFLUX_IO_RING");
    const std::string_view text = asked != nullptr ? asked : "";
    if (text == "plain") return ring_rung::plain;
    return text == "cooperative" ? ring_rung::cooperative : ring_rung::deferred;
}

std::string text_of(const ring_outcome& refused) {
    std::string text = std::string(refused.step) + ": " + std::system_category().message(-refused.error);
    if (refused.error == -EPERM)
        text += " (a seccomp filter, as containers have by default, or the sysctl kernel.io_uring_disabled)";
    return text;
}

choice choose() {
    const char* const variable = std::getenv("COFLUX_IO");
    const std::string_view asked = variable != nullptr ? variable : "";
    if (!asked.empty() && asked != "epoll" && asked != "uring")
        throw std::invalid_argument("coflux: the environment variable COFLUX_IO is '" + std::string(asked) +
                                    "', which is neither 'epoll' nor 'uring'");
    choice c;
    c.is_forced = !asked.empty();
    if (asked == "epoll" || (asked.empty() && !prefers_uring)) {
        c.report.reason = c.is_forced ? "COFLUX_IO=epoll" : "it is the default";
        return c;
    }
    const ring_outcome how = ring::probe(first_rung());
    if (how.error != 0 && c.is_forced)
        throw std::system_error(-how.error, std::system_category(),
                                "coflux: COFLUX_IO=uring, but the system refuses it: " + text_of(how));
    if (how.error != 0) {
        c.report.reason = "the system refuses io_uring: " + text_of(how);
        return c;
    }
    c.rung = how.rung;
    c.report = {io_backend::uring, name_of(how.rung), c.is_forced ? "COFLUX_IO=uring" : "the system has io_uring"};
    return c;
}

/// Errors: as io_backend_in_use(); the next call tries again.
const choice& chosen() {
    static const choice* const the_one = new choice(choose());  // never destroyed: threads may outlive static objects
    return *the_one;
}

}  // namespace

std::shared_ptr<io_source> io_source::make(bool one_thread) {
    const choice& c = chosen();
    if (c.report.backend == io_backend::epoll) return std::make_shared<epoll_source>();
    try {
        return std::make_shared<uring_source>(one_thread ? c.rung : ring_rung::plain);
    } catch (const std::system_error&) {
        // One that worked once, and no more: memory may be short, of which epoll needs less.
        if (c.is_forced) throw;
    }
    return std::make_shared<epoll_source>();
}

std::shared_ptr<io_source> io_source::make_shared() {
    (void)chosen();  // for its errors
    return std::make_shared<epoll_source>();
}

}  // namespace detail

const io_backend_report& io_backend_in_use() {
    return detail::chosen().report;
}

}  // namespace coflux
