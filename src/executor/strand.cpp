// The page docs/design/serial_executors.md has the protocol.
#include <coflux/executor/strand.hpp>

#include <utility>

#include <coflux/base/assert.hpp>

#include "executor/detail/strand_state.hpp"

namespace coflux {
namespace detail {

void strand_state::execute(std::coroutine_handle<> h) noexcept {
    if (post(h, false)) post_turn();
}

void strand_state::run_turn(void* at) noexcept {
    static_cast<frame*>(at)->strand->turn();
}

void strand_state::destroy_turn(void*) noexcept {
    COFLUX_VERIFY(false, "an executor destroys the turn of a strand, where it resumes each handle once");
}

bool strand_state::is_turn(std::coroutine_handle<> h) noexcept {
    // Whatever it is, it begins with what resume() calls.
    void (*const resume)(void*) = *static_cast<void (**)(void*)>(h.address());
    return resume == &run_turn;
}

location_text strand_state::text_of(std::coroutine_handle<> h) noexcept {
    return is_turn(h) ? location_text("a strand") : location_text(h);
}

/// At most one turn is queued or runs. A turn happens before the next: it posts the next one itself, or it
/// rests under the lock under which a pusher finds that out.
void strand_state::turn() noexcept {
    {
        const mount here(*this, this_thread);
        run_round(this_thread);
    }
    bool ends = false;
    if (has_work() || !rest([this, &ends]() noexcept { ends = ends_; })) return post_turn();
    if (ends) delete this;  // else another thread may run the next turn already
}

void strand_state::end() noexcept {
    const bool is_last = while_it_stays([this](bool rests) noexcept {
        ends_ = true;
        return rests;
    });
    if (is_last) delete this;
}

strand_handle::strand_handle(const executor_entry& entry) : state_(new strand_state(entry)) {}
strand_handle::strand_handle(strand_handle&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
strand_handle& strand_handle::operator=(strand_handle&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}
strand_handle::~strand_handle() {
    if (state_ != nullptr) state_->end();
}
void* strand_handle::identity() const noexcept {
    return state_;
}
void strand_handle::execute_on(void* identity, std::coroutine_handle<> h) noexcept {
    static_cast<strand_state*>(identity)->execute(h);
}

}  // namespace detail
}  // namespace coflux
