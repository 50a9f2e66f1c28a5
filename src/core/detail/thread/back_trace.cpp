#include "core/detail/thread/back_trace.hpp"

#include <cstdio>

#include <coflux/base/assert.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {
namespace {

constexpr int longest = 64;

void print_back_trace() noexcept {
    int left = longest;
    for (environment* e = const_cast<environment*>(this_thread.current); e != nullptr;
         e = environment_tree::parent(*e)) {
        if (environment_tree::is_object(*e)) continue;
        if (left-- == 0) {
            std::fprintf(stderr, "  in more coroutines above\n");
            return;
        }
        const std::source_location at = environment_tree::coroutine(*e).control().location();
        if (at.line() == 0) {
            std::fprintf(stderr, "  in a coroutine that failed\n");
            continue;
        }
        std::fprintf(stderr, "  in %s at %s:%u\n", readable_name(at.function_name()).c_str(), at.file_name(),
                     static_cast<unsigned>(at.line()));
    }
}

}  // namespace

void enable_back_trace() noexcept {
    set_failure_context(&print_back_trace);
}

}  // namespace coflux::detail
