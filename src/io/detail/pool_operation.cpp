// The page docs/design/file.md has the states.
#include <coflux/io/detail/pool_operation.hpp>

#include <utility>

#include <coflux/core/detail/wait/turn.hpp>

#include "core/detail/thread/steps.hpp"

namespace coflux::detail {
namespace {

/// A step of a round: 1.5 us.
constexpr std::size_t bytes_of_a_step = std::size_t{16} << 10;

}  // namespace

constinit const blocking_job_kind pool_operation::how_it_runs{&pool_operation::run, &pool_operation::fail_job, nullptr};

/// "It threw", always: what was done is not lost to a stop.
bool pool_operation::run(blocking_job& j) noexcept {
    auto& self = static_cast<pool_operation&>(j);
    self.does_.wholly(self);
    return false;
}
void pool_operation::fail_job(blocking_job& j, const std::exception_ptr& error) noexcept {
    static_cast<pool_operation&>(j).no_thread_ = error;
}

bool pool_operation::await_ready() noexcept {
    is_over_ = does_.at_once != nullptr && does_.at_once(*this);
    const bool is_turn_over = spend_steps(static_cast<unsigned>(1 + count_ / bytes_of_a_step));
    return is_over_ && !is_turn_over;
}

std::coroutine_handle<> pool_operation::await_suspend(std::coroutine_handle<>) {
    if (!is_over_) {
        if (waiting_ != nullptr) {
            waiting_->fetch_add(1, memory_order_relaxed);
            counted_ = true;
        }
        return suspend();
    }
    return let_others_run(coroutine_);
}

std::coroutine_handle<> pool_operation::suspend_with_result() noexcept {
    try {
        return await_suspend(coroutine_.handle());
    } catch (...) {
        no_thread_ = std::current_exception();
        return transfer(coroutine_.handle());
    }
}

void pool_operation::done_with_result() {
    try {
        done();
    } catch (const std::system_error& e) {
        result_ = -e.code().value();
    }
}

void pool_operation::leave() noexcept {
    // Pairs with the acquire of the owner that closes what was used.
    if (std::exchange(counted_, false)) waiting_->fetch_sub(1, memory_order_release);
}

std::error_code pool_operation::error() const noexcept {
    return result_ < 0 ? std::error_code(static_cast<int>(-result_), std::system_category()) : std::error_code();
}

void pool_operation::fail(const std::string& what, const std::uint64_t* offset) const {
    std::string text = std::string("coflux: ") + does_.what + ' ' + what;
    if (offset != nullptr) text += " at " + std::to_string(*offset);
    if (count_ != 0) text += ", after " + std::to_string(count_) + " bytes";
    throw std::system_error(error(), text);
}

}  // namespace coflux::detail
