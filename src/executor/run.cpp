// The page docs/design/run.md says what ends in which order.
#include <coflux/executor/run.hpp>

#include <cstdio>

#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/errors.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/executor/stop_on_signals.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "core/detail/scope/error_text.hpp"

namespace coflux::detail {
namespace {

constexpr int failed = 1;
constexpr int shell_adds = 128;  // to the number of a signal that ended a program

/// In the handler of an error. One in a simulation is that of a test, or says that the program waits for ever.
int report() {
    if (this_thread.driver != nullptr) throw;
    try {
        print_errors("", std::current_exception(), other_errors(), last_error_location());
    } catch (...) {  // no memory for the list of the others
        print_errors("", std::current_exception(), {}, {});
    }
    return failed;
}

int end_of(std::optional<int> status, int signal) noexcept {
    if (status) return *status;
    if (signal != 0) return shell_adds + signal;
    std::fprintf(stderr, "error: the program was stopped, and no signal asked for it\n");
    return failed;
}

int run_on(thread_pool_executor& pool, const run_options& options, program& p) {
    auto env = make_environment(pool, options.memory != nullptr ? options.memory : &frame_pool::shared());
    std::optional<stop_on_signals> signals;
    if (options.handle_signals) signals.emplace(env, options.second_signal_after);
    try {
        const std::optional<int> status = p.run_in(env);
        return end_of(status, signals ? signals->received() : 0);
    } catch (...) {
        return report();
    }  // before the pool ends
}

}  // namespace

int run_program(run_options options, program& p) {
    forget_error_location();
    try {
        thread_pool_executor pool(std::move(options.pool));
        return run_on(pool, options, p);
    } catch (...) {
        return report();
    }
}

}  // namespace coflux::detail
