#include <coflux/channel/detail/channel_node.hpp>

#include <coflux/channel/detail/channel_core.hpp>
#include <coflux/channel/detail/select_core.hpp>

namespace coflux::detail {

bool try_win(channel_node& n) noexcept {
    return n.select->decide(n.position);
}

void wake(channel_node& n) noexcept {
    n.select != nullptr ? n.select->won() : static_cast<channel_wait&>(n).wake();
}

void channel_wakes::wake_all() noexcept {
    for (channel_link* l = first_; l != nullptr;) {
        channel_node& n = *static_cast<channel_node*>(l);
        l = n.before;  // before it is woken: then it may be gone
        detail::wake(n);
    }
}

}  // namespace coflux::detail
