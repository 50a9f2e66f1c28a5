#include <coflux/core/resume_on.hpp>

#include <coflux/base/no_coroutine.hpp>

#include "core/detail/readable_name.hpp"

namespace coflux::detail {

void fail_resume_on(const char* name) noexcept {
    const std::string_view type = type_in(name);
    fail(__FILE__, __LINE__, "an executor of the environment",
         "resume_on: the environment does not have this executor (%.*s): give it to make_environment",
         static_cast<int>(type.size()), type.data());
}

std::coroutine_handle<> resume_on_awaiter::await_suspend(std::coroutine_handle<> h) const noexcept {
    if (p_.begin_suspend() == detail::suspension::stop) return p_.stop_here();
    p_.clear_current();
    const executor_entry* const to = to_;
    p_.move_to(to);
    to->post(h);  // this object may be gone from here on
    return no_coroutine();
}

}  // namespace coflux::detail
