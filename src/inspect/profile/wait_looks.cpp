#include "inspect/profile/wait_looks.hpp"

#include <string>

#include "inspect/bounded_text.hpp"
#include "inspect/places.hpp"
#include "inspect/profile/sample_ring.hpp"

namespace coflux::detail {

bool wait_looks::look(std::uint64_t time, frame_names& names, stack_times& into) {
    const inspection::snapshot now;
    inspection::places where(now);
    if (!now.complete() || !where) return false;
    stack_times::chain chain;
    now.for_each([&](std::uint32_t, const inspection::found_coroutine& found) {
        const bool waits = found.state == state::waits;
        if (!waits && found.state != state::ready && found.state != state::foreign) return;
        chain.clear();
        const std::uint64_t key = waits ? found.kind : static_cast<std::uint64_t>(found.state);
        const auto [text, is_new] = texts_.try_emplace(key);
        if (is_new) {
            inspection::found_coroutine any = found;
            any.of = 0;
            any.holder = inspection::no_coroutine;
            any.moving = false;
            char buffer[256];
            inspection::bounded_text line(buffer, sizeof buffer);
            inspection::write_state(now, any, where, line);
            text->second = names.of_text(std::string(line.view()));
        }
        chain.push_back(text->second);
        chain.push_back(names.of_place(found.place));
        std::uint32_t above = found.above;
        for (std::size_t i = 1; i < processor_sample::deepest && above != inspection::no_coroutine; ++i) {
            chain.push_back(names.of_place(now[above].place));
            above = now[above].above;
        }
        if (above != inspection::no_coroutine) chain.push_back(names.of_text("others above"));
        into.add(chain, time, 1, waits ? found.of : 0);
    });
    return true;
}

}  // namespace coflux::detail
