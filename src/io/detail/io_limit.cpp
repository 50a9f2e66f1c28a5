// The page docs/design/io.md has the protocol.
#include <coflux/io/detail/io_limit.hpp>

#include <coflux/base/config.hpp>
#include <coflux/io/detail/io_operation.hpp>

namespace coflux::detail {

constinit const timer_kind io_limit::how_it_ends{&io_limit::come_due, &io_limit::whose, "waits with a limit"};

bool io_limit::prepare(promise_base& p) {
    const clock_tick now = choose_queue(p.runs_on());
    if (!end().from_the_wait && end().ticks <= now) {
        is_over_ = true;
        return false;
    }
    timer::prepare();
    return true;
}

void io_limit::arm() noexcept {
    is_armed_ = true;
    if (queue() != nullptr && queue()->defers_for(op_.coroutine().runs_on())) return queue()->defer(*this);
    timer::arm(end().after(end().from_the_wait ? tick_now() : 0), false);
}

void io_limit::disarm_now() noexcept {
    is_armed_ = false;
    if (queue() != nullptr && queue()->forget(*this)) return;
    if (timer::disarm()) return;
    while (!has_acted_.load(memory_order_acquire)) cpu_pause();  // pairs with come_due()
}

void io_limit::come_due(timer& t) noexcept {
    auto& limit = static_cast<io_limit&>(t);
    io_operation& op = limit.op_;
    limit.has_come_.store(true, memory_order_relaxed);  // before the lock that claim() takes; see has_come()
    const bool claimed = io_operation::claim(op);
    if (claimed) limit.is_over_ = true;
    limit.has_acted_.store(true, memory_order_release);  // pairs with disarm_now()
    if (claimed) op.wake();                              // no other thread does, so both are still there
}

const environment& io_limit::whose(const timer& t) noexcept {
    return static_cast<const io_limit&>(t).op_.coroutine();
}

}  // namespace coflux::detail
