#include "memory/detail/idle_memory.hpp"

#include <utility>

#include "memory/detail/central_lists.hpp"

namespace coflux::detail {

void give_back_lists(const idle_question& interrupted) noexcept {
    const auto pages_go = [&interrupted] { return !interrupted(); };
    for (std::size_t c = 0; c < frame_cache::classes; ++c) {
        if (free_block* const blocks = std::exchange(this_frame_cache.heads[c], nullptr))
            central[c].sort(c, blocks, pages_go);
    }
}

bool give_back_chain(std::size_t& size_class, const idle_question& interrupted) noexcept {
    const auto pages_go = [&interrupted] { return !interrupted(); };
    for (; size_class < frame_cache::classes; ++size_class) {
        if (central[size_class].give_back_chain(size_class, pages_go)) return true;
    }
    return false;
}

void idle_memory::begin() noexcept {
    used_ = reserve_uses.load(memory_order_relaxed);  // pairs with nothing: a hint
}

bool idle_memory::reserve_was_used() const noexcept {
    return reserve_uses.load(memory_order_relaxed) != used_;  // as in begin()
}

}  // namespace coflux::detail
