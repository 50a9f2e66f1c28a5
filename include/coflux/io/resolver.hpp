// resolver: the addresses of a host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/executor/blocking_pool.hpp>
#include <coflux/io/detail/name_lookup.hpp>
#include <coflux/io/endpoint.hpp>

namespace coflux {

/// The errors of a resolver: `if (e.code() == coflux::resolver_errc::not_found)`.
enum class resolver_errc {
    not_found = 1,  ///< the resolver says: there is no such host, or it has no address of that family
    try_again = 2,  ///< a name server did not answer; it may later
};
/// The errors of getaddrinfo(3), by their own numbers and texts.
[[nodiscard]] const std::error_category& resolver_category() noexcept;
[[nodiscard]] std::error_condition make_error_condition(resolver_errc e) noexcept;

/// How a resolver is made.
struct resolver_options {
    /// How many lookups run at once, at least 1, those included that a stop has left. Further ones wait. 0 is an error
    /// of the constructor. More than the pool has threads set no limit: those that it has no thread for wait in its
    /// queue.
    std::size_t max_lookups = 8;
    /// Where they run; nullptr: on blocking_pool::shared(). Another one outlives the resolver, and its end waits for
    /// lookups that a stop has left.
    blocking_pool* pool = nullptr;
    /// A function in place of getaddrinfo(3), on a thread that may block: for tests, and for names of one's own. It
    /// gives endpoints, whose ports are set later, or throws. It may be called by several threads at once, and run on
    /// when the resolver is gone: what it captures must last as long.
    std::function<std::vector<endpoint>(const std::string& host, address_family family)> look_up = {};
};

/// Finds the addresses of hosts by the system: `const auto all = co_await names.resolve(here, "example.org", 80);`
///
/// Equal names that are asked for at the same time are looked up once. There is no cache: each later question is asked
/// of the system anew, which may have one.
///
/// Errors: std::invalid_argument for max_lookups of 0.
/// Threads: all members from any.
/// Lifetime: outlives the coroutines that ask it. Its death waits for no lookup.
/// Example: examples/44_connect_to.cpp
class resolver {
public:
    explicit resolver(resolver_options options = {});
    resolver(const resolver&) = delete;
    resolver& operator=(const resolver&) = delete;
    ~resolver() = default;

    /// `co_await names.resolve(here, host, port)`: where to connect to.
    ///
    /// Shapes: `host` is a name, or an address as text; that is never looked up, and never waits.
    /// Returns: at least one endpoint, in the order of the system (RFC 6724), each once.
    /// Resumes: on the coroutine's own executor.
    /// Errors: std::system_error with the name in its text, and the text of getaddrinfo(3): its code compares equal to
    /// a resolver_errc where the resolver has said so. Where the system failed, the code is the system's, as
    /// std::errc::too_many_files_open. Errors of resolver_options::look_up, as they are. All that
    /// wait for one lookup get its error. Those of blocking(), as
    /// std::errc::resource_unavailable_try_again where no thread can be had.
    /// Stops: a stop point where it waits; loses the result. The lookup runs on by itself: its result goes to those who
    /// wait for it, too, or to nothing.
    /// Costs: a frame, and a few blocks of the heap; a thread of the pool while it runs.
    [[nodiscard("nothing is looked up until this is awaited: co_await it")]] call<std::vector<endpoint>>
    resolve(environment&, std::string_view host, std::uint16_t port, address_family family = address_family::any);

    /// How many lookups run, those included that a stop has left.
    [[nodiscard]] std::size_t running() const noexcept { return lookups_->running(); }

private:
    std::shared_ptr<detail::name_lookups> lookups_;
    blocking_pool* pool_;
};

}  // namespace coflux

template <>
struct std::is_error_condition_enum<coflux::resolver_errc> : std::true_type {};
