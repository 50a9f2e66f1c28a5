#include "inspect/places.hpp"

namespace coflux::detail::inspection {

void write_state(const snapshot& s, const found_coroutine& c, places& where, bounded_text& to) noexcept {
    switch (c.state) {
    case coroutine_state::ready: to.add("is queued, or runs"); break;
    case coroutine_state::running:
        to.add("runs on ");
        if (c.of == several_workers) {
            to.add("a worker");
        } else {
            to.add("worker ").add(c.of);
        }
        break;
    case coroutine_state::waits: {
        char what[128];
        s.text_of_kind(c.kind, what, sizeof what);
        to.add("waits for ").add(what[0] != '\0' ? what : "something");
        if (c.of != 0) to.add(" at ").add_address(c.of);
        if (c.holder != no_coroutine) {
            to.add(", held by ");
            where.write(s[c.holder].place, to);
        }
        break;
    }
    case coroutine_state::awaits:
        if (c.kind == 1) {
            to.add("awaits ");
            where.write(s[static_cast<std::uint32_t>(c.of)].place, to);
        } else {
            to.add("awaits ").add(c.kind).add(" coroutines");
        }
        break;
    case coroutine_state::joins: to.add("waits for the ends of its children, ").add(c.children); break;
    case coroutine_state::ended: to.add("has ended; its result is not taken yet"); break;
    case coroutine_state::foreign: to.add("in something foreign, queued, or runs"); break;
    case coroutine_state::generator: to.add("a generator between two elements"); break;
    case coroutine_state::unawaited: to.add("was made, and is not awaited yet"); break;
    }
    if (c.moving) to.add(" (changed meanwhile)");
}

}  // namespace coflux::detail::inspection
