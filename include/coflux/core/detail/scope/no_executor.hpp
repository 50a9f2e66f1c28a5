// The message where a coroutine names an executor that its environment does not have.
#pragma once

#include <cstddef>

#include <coflux/base/config.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/executor.hpp>

namespace coflux::detail {

[[noreturn]] COFLUX_COLD void fail_no_executor(const environment& in, const executor_key& wanted,
                                               std::size_t position) noexcept;

}  // namespace coflux::detail
