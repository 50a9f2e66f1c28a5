#include <coflux/executor/worker.hpp>

#include <memory>

#include <coflux/base/assert.hpp>

#include "executor/detail/strand_state.hpp"
#include "executor/detail/worker_thread.hpp"

namespace coflux {

worker_executor::worker_executor() : worker_executor(worker_options()) {}
worker_executor::worker_executor(worker_options options) {
    auto made = std::make_unique<detail::worker_thread>(std::move(options));
    made->start();
    thread_ = made.release();
}
worker_executor::worker_executor(worker_executor&& other) noexcept : thread_(std::exchange(other.thread_, nullptr)) {}
worker_executor& worker_executor::operator=(worker_executor&& other) noexcept {
    if (this != &other) delete std::exchange(thread_, std::exchange(other.thread_, nullptr));
    return *this;
}
worker_executor::~worker_executor() {
    delete thread_;
}

void worker_executor::execute(std::coroutine_handle<> h) noexcept {
    thread_->execute(h);
}
void worker_executor::execute_on(void* identity, std::coroutine_handle<> h) noexcept {
    detail::serial_loop* const behind = detail::serial_loop::door::behind(identity);
    COFLUX_VERIFY(behind != nullptr,
                  "%s would go on upon a worker that is gone: it outlives what runs in the environments that name "
                  "it: join it, or stop and join it, before the worker ends",
                  detail::strand_state::text_of(h).c_str());
    behind->execute(h);
}
void* worker_executor::identity() const noexcept {
    return thread_->identity();
}

}  // namespace coflux
