#include <coflux/scope/with_scope.hpp>

#include "core/detail/scope/scope_children.hpp"
#include "core/detail/scope/scope_failures.hpp"

namespace coflux::detail {

scope_of_block::scope_of_block(environment& here, error_policy policy) noexcept : scope_(here, policy) {
    scope_.mark_as_lender();
}

void scope_of_block::failed(const failure& f) noexcept {
    failure* const own = failure_like(f);
    scope_failures::record(scope_, *own);
    own->release();
}

void scope_of_block::failed() noexcept {
    failure* const own = current_failure();
    scope_failures::record(scope_, *own);
    own->release();
}

void scope_of_block::stop() noexcept {
    // Without a child there is no coroutine to stop, and a request costs all other coroutines a look.
    if (scope_children::count(scope_).has_any()) scope_.request_stop();
}

void scope_of_block::throw_cause() {
    if (failure* const f = scope_failures::take_cause(scope_)) f->rethrow();
}

}  // namespace coflux::detail
