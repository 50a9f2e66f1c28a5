// with_scope: a block whose children are joined before it returns, however it ends.
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/core/as_outcome.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/scope/task_scope.hpp>

namespace coflux {
namespace detail {

/// The scope that a block is given, and what the end of the block does to it.
class scope_of_block {
public:
    scope_of_block(environment& here, error_policy policy) noexcept;

    [[nodiscard]] task_scope& scope() noexcept { return scope_; }

    /// The block failed: join() throws that, in the order of time among the errors of the children.
    void failed(const failure& f) noexcept;
    /// The block failed with the exception that is being handled.
    void failed() noexcept;
    /// The block has not given a value: the children are not needed.
    void stop() noexcept;
    /// The block was stopped: if by an error, that is thrown, though it may have been observed since.
    void throw_cause();

private:
    task_scope scope_;
};

template <typename Called>
struct called {
    static constexpr bool is_call = false;
    using type = void;  // check_block() refuses it
};
template <typename T>
struct called<call<T>> {
    static constexpr bool is_call = true;
    using type = T;
};

template <typename Block>
consteval void check_block() {
    static_assert(
        std::is_invocable_v<std::remove_reference_t<Block>&, task_scope&>,
        "coflux: the block of a with_scope takes the scope: [&](coflux::task_scope& scope) -> coflux::call<int> { ... }");
    if constexpr (std::is_invocable_v<std::remove_reference_t<Block>&, task_scope&>) {
        static_assert(called<std::invoke_result_t<std::remove_reference_t<Block>&, task_scope&>>::is_call,
                      "coflux: the block of a with_scope is a coroutine that returns a coflux::call: "
                      "[&](coflux::task_scope& scope) -> coflux::call<int> { ... }");
    }
}

template <typename Block>
using block_result = typename called<std::invoke_result_t<std::remove_reference_t<Block>&, task_scope&>>::type;

template <typename T, typename Block>
call<T> run_block(environment&, Block& block, error_policy policy) {
    auto&& self = co_await context();
    scope_of_block around(self, policy);
    std::optional<outcome<T>> ended;
    try {
        call<T> running = block(around.scope());
        ended.emplace(co_await as_outcome(std::move(running)));
        if (ended->has_error()) {
            const failure* const error = await_access::error(running);
            if (error == nullptr) std::rethrow_exception(ended->error());
            around.failed(*error);
        }
    } catch (...) {  // no memory for the block, or a value that cannot be moved
        ended.reset();
        around.failed();
    }
    if (!ended.has_value() || !ended->has_value()) around.stop();
    co_await around.scope().join();  // throws if there is no outcome, or an error
    if (ended->is_stopped()) {
        around.throw_cause();
        co_await this_coroutine::stop();
    }
    if constexpr (std::is_void_v<T>) {
        co_return;
    } else {
        co_return std::move(*ended).value();
    }
}

}  // namespace detail

/// Runs a block with a scope of its own, and returns when the block and all children of that scope have ended: `const
/// int sum = co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<int> { ... });`
///
/// Shapes: the block takes the scope, a task_scope, as its first parameter and returns a call; a lambda may capture.
/// Children of the scope may borrow (coflux::borrowed) objects from outside the block.
/// Returns: what the block returns, once the children have ended; it does not stop them.
/// Resumes: as a call does.
/// Errors: an error of the block, or of a child that is not awaited when it fails, stops the block and the children;
/// they are joined, then the first error is thrown, with the rest in other_errors(). With collect_all (error_policy)
/// only an error of the block stops them. std::bad_alloc where a frame cannot be had.
/// Stops: the await is a stop point before the block begins. Later a stop reaches the block and the children, which are
/// joined; then the awaiting coroutine is stopped, unless the block has given its value nevertheless, and the stop cut
/// no child off. A block that gives what it has got in time calls `scope.finish_with_value()`. A block that stops for
/// another reason (scope.request_stop(), this_coroutine::stop()) stops the children and the awaiting coroutine, as a
/// call does.
/// Threads: as a task_scope.
/// Costs: two frames, of which one is the block's; a child as in a task_scope.
/// Lifetime: awaited in the expression that makes it; the block lives as long.
template <typename Block>
[[nodiscard("a block that is not awaited never begins: co_await it")]] auto
with_scope(environment& here, error_policy policy, Block&& block) {
    detail::check_block<Block>();
    return detail::run_block<detail::block_result<Block>>(here, block, policy);
}
template <typename Block>
[[nodiscard("a block that is not awaited never begins: co_await it")]] auto with_scope(environment& here,
                                                                                       Block&& block) {
    detail::check_block<Block>();
    return detail::run_block<detail::block_result<Block>>(here, block, error_policy::stop_on_error);
}

}  // namespace coflux
