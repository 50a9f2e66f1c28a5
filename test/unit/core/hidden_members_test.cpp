// Handles and operations show their users nothing of what the library does with them.
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <gtest/gtest.h>

namespace {

using coflux::detail::promise_base;
using inline_fork = coflux::fork<int, coflux::noop_executor>;
using sends = decltype(std::declval<coflux::channel<int[1]>&>().send(1));

// Awaitables.
template <typename A>
concept shows_its_await =
    requires(A&& a, promise_base& p, std::source_location where) { std::forward<A>(a).await_in(p, where); } ||
    requires(A&& a, promise_base& p, std::source_location where) { std::forward<A>(a).await_outcome_in(p, where); } ||
    requires(A&& a) { std::forward<A>(a).await_ready(); } || requires(A&& a) { std::forward<A>(a).await_resume(); } ||
    requires(A&& a, std::coroutine_handle<promise_base> h) { std::forward<A>(a).await_suspend(h); } ||
    requires(A&& a, promise_base& p) { a.home(p); } || requires(A&& a, promise_base& p) { a.begin_for(p); } ||
    requires(A&& a) { a.last(); } || requires(A&& a) { a.error(); } || requires(A&& a) { a.arguments(); };

// Owners of a frame.
template <typename H>
concept shows_its_frame =
    requires(H&& h) { h.release(); } || requires(H&& h) { h.used(); } || requires(H&& h) { h.checked(); } ||
    requires(H&& h) { h.frame(); } || requires(H&& h) { h.address(); } || requires(H&& h) { h.control(); } ||
    requires(H&& h) { h.is_empty(); } || requires(H&& h) { h.swap(h); } || requires(H&& h) { h.take([] {}); } ||
    requires(H&& h) { h.assume_not_waited(); } || requires { std::remove_cvref_t<H>::starts_queued; } ||
    requires { std::remove_cvref_t<H>::starts_in_creator; } ||
    requires { typename std::remove_cvref_t<H>::single_use; };

template <typename H>
inline constexpr bool is_plain_handle =
    coflux::detail::native_awaitable<H> && !shows_its_await<H> && !shows_its_frame<H>;

static_assert(is_plain_handle<coflux::fork<int>>);
static_assert(is_plain_handle<coflux::fork<void, coflux::thread_pool_executor>>);
static_assert(is_plain_handle<inline_fork>);
static_assert(is_plain_handle<coflux::task<std::string, coflux::thread_pool_executor>>);
static_assert(is_plain_handle<coflux::call<int>>);
static_assert(is_plain_handle<coflux::fork_view<int>>);
static_assert(is_plain_handle<coflux::fork_view<int>&>);

template <typename G>
concept gives_its_frame = requires(G&& g) { G::release(g); } || requires(G&& g) { g.checked(); };
using gives_ints = coflux::async_generator<int>;
static_assert(!gives_its_frame<coflux::generator<int>> && !gives_its_frame<gives_ints>);

template <typename Operation>
inline constexpr bool is_plain_operation = coflux::detail::native_awaitable<Operation> && !shows_its_await<Operation> &&
                                           !requires { typename Operation::operation; };

template <typename T>
T&& some() noexcept;

struct foreign {
    [[nodiscard]] bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<>) const noexcept;
    void await_resume() const noexcept;
};

// core
static_assert(is_plain_operation<decltype(coflux::yield())>);
static_assert(is_plain_operation<decltype(coflux::this_coroutine::stop())>);
static_assert(is_plain_operation<decltype(coflux::this_coroutine::executor())>);
static_assert(is_plain_operation<decltype(coflux::as_outcome(some<coflux::fork<int>>()))>);
static_assert(is_plain_operation<decltype(coflux::as_outcome(some<coflux::call<int>>()))>);
static_assert(is_plain_operation<decltype(coflux::resume_on(some<coflux::thread_pool_executor&>()))>);
static_assert(is_plain_operation<decltype(coflux::on_stop_request(some<foreign&>(), []() noexcept {}))>);
static_assert(is_plain_operation<decltype(some<coflux::task_scope&>().join())>);
// scope
static_assert(is_plain_operation<decltype(coflux::shielded(some<coflux::call<int>>()))>);
// combine
static_assert(is_plain_operation<decltype(coflux::when_all(some<coflux::fork<int>>(), some<coflux::call<int>>()))>);
static_assert(is_plain_operation<decltype(coflux::when_all(some<std::vector<coflux::fork<int>>>()))>);
static_assert(is_plain_operation<decltype(coflux::when_all_outcomes(some<coflux::fork<int>>()))>);
static_assert(is_plain_operation<decltype(coflux::when_any(some<coflux::fork<int>>()))>);
static_assert(is_plain_operation<decltype(coflux::when_any(some<std::vector<coflux::fork<int>>>()))>);
static_assert(is_plain_operation<decltype(coflux::race(some<coflux::fork<int>>()))>);
static_assert(is_plain_operation<decltype(coflux::first_success(some<coflux::fork<int>>()))>);
static_assert(is_plain_operation<decltype(coflux::when_n(some<std::vector<coflux::fork<int>>>(), 1))>);
static_assert(is_plain_operation<decltype(coflux::for_each_concurrent(some<std::vector<int>&>(), 1, [](int) {}))>);
// sync
static_assert(is_plain_operation<decltype(some<coflux::mutex&>().lock())>);
static_assert(is_plain_operation<decltype(some<coflux::shared_mutex&>().lock_shared())>);
static_assert(is_plain_operation<decltype(some<coflux::semaphore&>().acquire())>);
static_assert(is_plain_operation<decltype(some<coflux::latch&>().arrive_and_wait())>);
static_assert(is_plain_operation<decltype(some<coflux::barrier<>&>().arrive_and_wait())>);
static_assert(is_plain_operation<decltype(some<coflux::manual_reset_event&>().wait())>);
static_assert(is_plain_operation<decltype(some<coflux::auto_reset_event&>().wait())>);
static_assert(is_plain_operation<decltype(some<coflux::once&>().call([] {}))>);
static_assert(is_plain_operation<decltype(some<coflux::condition_variable&>().wait(some<coflux::mutex::guard&>()))>);
static_assert(is_plain_operation<decltype(some<coflux::condition_variable&>().wait(some<coflux::mutex::guard&>(),
                                                                                   [] { return true; }))>);
// channel
static_assert(is_plain_operation<sends>);
static_assert(is_plain_operation<decltype(coflux::select(some<sends>()))>);
// generator
static_assert(is_plain_operation<decltype(some<gives_ints&>().next())>);
// time
static_assert(is_plain_operation<decltype(coflux::sleep_for(std::chrono::seconds(1)))>);
static_assert(is_plain_operation<decltype(some<coflux::interval&>().next())>);
static_assert(is_plain_operation<decltype(coflux::timeout(some<coflux::fork<int>>(), std::chrono::seconds(1)))>);

// A type of a user that is awaited as ours are keeps its structured bindings: the members.
struct of_a_user : decltype(coflux::yield()){};
template <typename T>
concept has_tuple_size = requires { sizeof(std::tuple_size<T>); };
static_assert(!has_tuple_size<of_a_user>);

// Each of the two concepts can be true.
struct shown {
    int await_in(promise_base&, std::source_location);
    int release();
};
static_assert(shows_its_await<shown> && shows_its_frame<shown>);

TEST(hidden_members, are_checked_where_this_compiles) {}

}  // namespace
