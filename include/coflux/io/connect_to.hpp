// connect_to: a connection to a host by its name.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/combine/first_success.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/resolver.hpp>
#include <coflux/io/tcp.hpp>
#include <coflux/scope/with_scope.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux {

/// How connect_to() connects.
struct connect_options {
    /// How long an attempt has before the next one begins beside it. RFC 8305 asks for 10 ms at least, and two seconds
    /// at most; 0: all begin at once.
    std::chrono::nanoseconds attempt_delay = std::chrono::milliseconds(250);
    /// How many addresses of the family that comes first are tried before one of the other family.
    std::size_t first_family_count = 1;
    /// Which addresses are asked for.
    address_family family = address_family::any;
    /// The options of each attempt of connect_to(). A source address has one family: attempts of the other fail, so ask
    /// for one.
    tcp_options tcp{};
};

/// An attempt of connect_to() that failed.
struct failed_attempt {
    endpoint to;
    std::error_code code;  ///< of a std::system_error; of another exception not_enough_memory or io_error
    std::string text;      ///< what went wrong
};

/// The error of connect_to() where no address could be connected to. Its text has all of them with their errors; its
/// code is that of the first.
class connect_error : public std::system_error {
public:
    connect_error(std::string_view whom, std::vector<failed_attempt> attempts);
    /// In the order in which they were begun.
    [[nodiscard]] const std::vector<failed_attempt>& attempts() const noexcept { return *attempts_; }

private:
    std::shared_ptr<const std::vector<failed_attempt>> attempts_;
};

/// The endpoints of the two families in turns, each family in its order, beginning with the first of all (RFC 8305,
/// section 4).
[[nodiscard]] std::vector<endpoint> interleaved(std::vector<endpoint> all, std::size_t first_family_count = 1);

namespace detail {

/// The result of a connecting function: it is awaited, with an endpoint, in an environment.
template <typename Connect>
using connection_of = await_result<std::invoke_result_t<Connect&, environment&, const endpoint&>>;

[[nodiscard]] failed_attempt failure_of(const endpoint& to, const std::exception_ptr& error);

/// The attempts of one connect_race(). The page docs/design/connect.md has the protocol.
template <typename Connect>
struct connection_race {
    struct attempt {
        manual_reset_event begun;
        manual_reset_event failed;
        std::exception_ptr error;  // written before `failed` is set
    };

    connection_race(std::vector<endpoint> endpoints, Connect& c, std::chrono::nanoseconds d)
        : to(std::move(endpoints)),
          connect(c),
          delay(d),
          attempts(to.size()) {}

    /// Once all have ended: empty unless each of them failed by itself.
    [[nodiscard]] std::vector<failed_attempt> failures() const {
        std::vector<failed_attempt> all;
        for (std::size_t i = 0; i != to.size(); ++i) {
            if (!attempts[i].failed.is_set()) return {};
            all.push_back(failure_of(to[i], attempts[i].error));
        }
        return all;
    }

    const std::vector<endpoint> to;
    Connect& connect;
    const std::chrono::nanoseconds delay;
    std::deque<attempt> attempts;
};

template <typename Connect>
fork<connection_of<Connect>> race_attempt(environment&, borrowed<connection_race<Connect>> race, std::size_t i) {
    auto&& here = co_await context();
    auto& mine = race->attempts[i];
    try {
        if (i != 0) {
            auto& before = race->attempts[i - 1];
            co_await before.begun.wait();
            (void)co_await timeout(before.failed.wait(), race->delay);
        }
        mine.begun.set();
        co_return co_await race->connect(here, race->to[i]);
    } catch (...) {
        mine.error = std::current_exception();
        mine.begun.set();  // it may not have come that far
        mine.failed.set();
        throw;
    }
}

template <typename Connect>
call<connection_of<Connect>> run_race(environment&, connection_race<Connect>& race, std::string_view whom) {
    using stream = connection_of<Connect>;
    auto&& here = co_await context();
    auto block = [&race](task_scope& scope) -> call<stream> {
        std::vector<fork<stream>> all;
        all.reserve(race.to.size());
        for (std::size_t i = 0; i != race.to.size(); ++i)
            all.push_back(race_attempt<Connect>(scope, borrowed(race), i));
        co_return co_await first_success(std::move(all));
    };
    std::exception_ptr error;
    try {
        // An attempt that fails before it is awaited stops no other one.
        co_return co_await with_scope(here, collect_all, block);
    } catch (...) {
        error = std::current_exception();
    }
    // A stop is no error, though some attempts had failed before it came.
    if (here.stop_requested()) co_await this_coroutine::stop();
    if (auto failures = race.failures(); !failures.empty()) throw connect_error(whom, std::move(failures));
    std::rethrow_exception(error);
}

struct connect_over_tcp {
    connect_with_request operator()(environment&, const endpoint& to) const { return tcp_stream::connect(to, options); }

    tcp_options options{};
};

}  // namespace detail

/// `co_await connect_race(here, endpoints, connect)`: the first connection that `connect(here, endpoint)` gives.
///
/// The attempts begin in the order of the endpoints: the next one when the one before has failed, or has gone on for
/// attempt_delay. The first that succeeds wins; the others are stopped and joined, and what they gave nevertheless
/// dies.
/// Shapes: `connect` is called with an environment and an endpoint, and gives an awaitable, as a call; it may be called
/// while others of its calls go on, on several threads.
/// Returns: what `connect` gives.
/// Errors: connect_error with all errors; std::invalid_argument where there is no endpoint; std::bad_alloc.
/// Stops: a stop point; all attempts are stopped and joined. So timeout() is the limit for the whole.
/// Costs: a fork for each endpoint, from the beginning.
/// Lifetime: `connect` lives until the await ends.
template <typename Connect>
    requires std::invocable<Connect&, environment&, const endpoint&>
[[nodiscard("nothing is connected until this is awaited: co_await it")]] call<detail::connection_of<Connect>>
connect_race(environment&, std::vector<endpoint> to, Connect& connect, connect_options options = {},
             std::string_view whom = "any of the endpoints") {
    if (to.empty()) throw std::invalid_argument("coflux: connect_race() without an endpoint");
    auto&& here = co_await context();
    detail::connection_race<Connect> race(std::move(to), connect, options.attempt_delay);
    co_return co_await detail::run_race(here, race, whom);
}

/// `tcp_stream peer = co_await coflux::connect_to(here, names, "example.org", 80);`
///
/// Looks the name up, and connects to the first of its addresses that answers, after RFC 8305 (Happy Eyeballs): IPv6
/// and IPv4 in turns, 250 ms apart, or at once where the one before has failed.
/// Shapes: `host` lives until the await ends.
/// Returns: a tcp_stream; peer_endpoint() says which address it is.
/// Errors: those of resolver::resolve(); connect_error with the errors of all addresses; std::bad_alloc.
/// Stops: a stop point; what was connected by then is closed. `co_await timeout(connect_to(…), 5s)` limits the whole.
/// Costs: a fork for each address.
/// Source: RFC 8305. The system gives the addresses of both families at once, so there is no resolution delay.
/// Example: examples/44_connect_to.cpp
[[nodiscard("nothing is connected until this is awaited: co_await it")]] call<tcp_stream>
connect_to(environment&, resolver& names, std::string_view host, std::uint16_t port, connect_options options = {});

}  // namespace coflux
