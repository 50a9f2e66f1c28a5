#include <coflux/core/outer.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <source_location>
#include <utility>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/promise/start.hpp>

namespace coflux::detail {
namespace {

struct place {
    std::source_location maker;
    std::source_location child;
};

bool is_same(const std::source_location& a, const std::source_location& b) noexcept {
    return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

/// The places that have been told. Beyond that many there are enough warnings.
class told_places {
public:
    [[nodiscard]] bool add(const place& at) noexcept {
        const adaptive_guard guard(lock_);
        for (std::size_t i = 0; i != count_; ++i) {
            if (is_same(places_[i].maker, at.maker) && is_same(places_[i].child, at.child)) return false;
        }
        if (count_ == places_.size()) return false;
        places_[count_++] = at;
        return true;
    }

private:
    adaptive_lock lock_;
    std::size_t count_ = 0;
    std::array<place, 64> places_{};
};
constinit told_places told;

}  // namespace

void note_sibling(promise_base& made, std::source_location at) noexcept {
    // The one that had this memory was not taken over, and is gone.
    if (this_thread.sibling.frame == &made.control()) tell_of_sibling();
    const environment* const in = made.parent();
    if (this_thread.meant == in) {
        this_thread.meant = nullptr;
        return;
    }
    const environment* const maker = this_thread.begun;
    if (maker == nullptr || static_cast<const promise_base*>(maker)->parent() != in) return;
    this_thread.sibling = {&made.control(), maker, at, this_thread.begun_at};
}

void tell_of_sibling() noexcept {
    const untold_sibling untold = std::exchange(this_thread.sibling, {});
    const std::source_location& maker = untold.maker_at;
    const std::source_location& child = untold.made_at;
    if (!told.add({maker, child})) return;
    std::fprintf(
        stderr,
        "coflux: the coroutine at %s:%u makes the one at %s:%u in the environment that it was itself made in: "
        "a sibling, which it neither joins nor stops. Its children are made in `co_await coflux::context()`; a "
        "sibling that is meant, in coflux::outer(env).\n",
        maker.file_name(), static_cast<unsigned>(maker.line()), child.file_name(), static_cast<unsigned>(child.line()));
}

}  // namespace coflux::detail
