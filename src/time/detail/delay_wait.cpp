#include <coflux/time/detail/delay_wait.hpp>

namespace coflux::detail {

constinit const timed_kind delay_state::how_it_serves{&delay_state::serve, &delay_state::due};
constinit const wait_kind delay_wait::how_it_stops{.claim = &timed_wait::claim,
                                                   .stop = &timed_wait::stop,
                                                   .what = "a value of a delay_queue",
                                                   .of_at = timed_wait::of_at,
                                                   .queued_at = wait_operation::previous_at};

delay_wait::delay_wait(promise_base& p, delay_state& of) noexcept : timed_wait(p, of, how_it_stops), of_(of) {}

delay_item* delay_state::take_free() noexcept {
    const adaptive_guard guard(lock_);
    return free_.pop();
}

delay_item* delay_state::take_left() noexcept {
    auto* const n = static_cast<delay_item*>(heap_.first());
    return n != nullptr ? &take(*n) : nullptr;
}

void delay_state::insert(delay_item& n) noexcept {
    heap_.insert(n);
    ++size_;
}

delay_item& delay_state::take(delay_item& n) noexcept {
    heap_.remove(n);
    --size_;
    ++taken_;
    return n;
}

delay_item* delay_state::take_due_at(clock_tick now) noexcept {
    auto* const n = static_cast<delay_item*>(heap_.first());
    return n != nullptr && n->when <= now ? &take(*n) : nullptr;
}

std::uint64_t delay_state::put_in(delay_item& n, steady_time when) noexcept {
    return changed([&](clock_tick) noexcept -> std::uint64_t {
        if (closed_) return 0;
        n.when = tick_of(when);
        n.order = n.id = ++numbers_;
        insert(n);
        return n.order;
    });
}

void delay_state::free_unused(delay_item& n) noexcept {
    const adaptive_guard guard(lock_);
    free_.push(n);
}

/// The last value that was taken from a closed queue lets the other waiters know that it is the end.
void delay_state::free(delay_item& n) noexcept {
    changed([&](clock_tick) noexcept {
        n.id = 0;
        free_.push(n);
        --taken_;
        return true;
    });
}

void delay_state::put_back(delay_item& n) noexcept {
    changed([&](clock_tick) noexcept {
        insert(n);
        --taken_;
        return true;
    });
}

delay_item* delay_state::take_due() noexcept {
    return changed([&](clock_tick now) noexcept { return is_awaited() ? nullptr : take_due_at(now); });
}

bool delay_state::has_named(const delay_item* n, std::uint64_t id) const noexcept {
    return n != nullptr && n->id == id && n->is_in;
}

delay_item* delay_state::take_named(delay_item* n, std::uint64_t id) noexcept {
    return changed([&](clock_tick) noexcept { return has_named(n, id) ? &take(*n) : nullptr; });
}

bool delay_state::move_named(delay_item* n, std::uint64_t id, steady_time when) noexcept {
    return changed([&](clock_tick) noexcept {
        if (!has_named(n, id)) return false;
        heap_.remove(*n);
        n->when = tick_of(when);
        n->order = ++numbers_;
        heap_.insert(*n);
        return true;
    });
}

void delay_state::close() noexcept {
    changed([&](clock_tick) noexcept { return closed_ = true; });
}

bool delay_state::closed() const noexcept {
    const adaptive_guard guard(lock_);
    return closed_;
}

std::size_t delay_state::size() const noexcept {
    const adaptive_guard guard(lock_);
    return size_;
}

bool delay_state::serve(timed_wait_list& of, timed_wait& w, clock_tick now) noexcept {
    auto& s = static_cast<delay_state&>(of);
    delay_item* const n = s.take_due_at(now);
    static_cast<delay_wait&>(w).item_ = n;
    return n != nullptr || (s.closed_ && s.size_ + s.taken_ == 0);
}

clock_tick delay_state::due(timed_wait_list& of, const timed_wait&) noexcept {
    const delay_node* const n = static_cast<const delay_state&>(of).heap_.first();
    return n != nullptr ? n->when : timing_wheel::never;
}

}  // namespace coflux::detail
