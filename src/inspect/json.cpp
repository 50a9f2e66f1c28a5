#include "inspect/places.hpp"
#include "inspect/report.hpp"

namespace coflux::detail::inspection {
namespace {

const char* state_name(coroutine_state state) noexcept {
    switch (state) {
    case coroutine_state::ready: return "ready";
    case coroutine_state::running: return "running";
    case coroutine_state::waits: return "waits";
    case coroutine_state::awaits: return "awaits";
    case coroutine_state::joins: return "joins";
    case coroutine_state::ended: return "ended";
    case coroutine_state::foreign: return "foreign";
    case coroutine_state::generator: return "generator";
    case coroutine_state::unawaited: return "unawaited";
    }
    return "unknown";
}

void add_id(const snapshot& s, std::uint32_t i, bounded_text& to) noexcept {
    to.add("\"").add_address(s[i].control).add("\"");
}

void write_one(const snapshot& s, std::uint32_t i, places& where, bounded_text& to) noexcept {
    const found_coroutine& c = s[i];
    to.add("{\"id\":");
    add_id(s, i, to);
    to.add(",\"parent\":");
    if (c.above == no_coroutine) {
        to.add("null");
    } else {
        add_id(s, c.above, to);
    }
    to.add(",\"state\":\"").add(state_name(c.state)).add("\"");
    to.add(",\"call\":").add(c.is_call ? "true" : "false");
    to.add(",\"moving\":").add(c.moving ? "true" : "false");
    to.add(",\"bytes\":").add(c.bytes()).add(",\"children\":").add(c.children);
    if (const snapshot::place& p = where.at(c.place); p.line != 0) {
        to.add(",\"function\":").add_quoted(readable_name(p.function).c_str());
        to.add(",\"file\":").add_quoted(p.file).add(",\"line\":").add(p.line);
    }
    if (c.state == coroutine_state::waits) {
        char what[128];
        s.text_of_kind(c.kind, what, sizeof what);
        to.add(",\"waits_for\":").add_quoted(what);
        if (c.of != 0) to.add(",\"address\":\"").add_address(c.of).add("\"");
        if (c.holder != no_coroutine) {
            to.add(",\"holder\":");
            add_id(s, c.holder, to);
        }
    } else if (c.state == coroutine_state::awaits) {
        to.add(",\"awaits\":").add(c.kind).add(",\"awaited\":");
        add_id(s, static_cast<std::uint32_t>(c.of), to);
    } else if (c.state == coroutine_state::running) {
        to.add(",\"worker\":").add(c.of);
    }
    to.add("}");
}

}  // namespace

void write_json(const snapshot& s, bounded_text& to) noexcept {
    places where(s);
    if (!where) {
        to.add("{\"version\":1,\"error\":\"no memory\"}\n");
        return;
    }
    to.add("{\"version\":1,\"count\":").add(s.valid()).add(",\"moving\":").add(s.moving()).add(",\"coroutines\":[");
    std::uint64_t shown = 0;
    bool fits = true;
    s.for_each([&](std::uint32_t i, const found_coroutine&) {
        fits = fits && to.try_to_add(room_for_rest, [&] {
            to.add(shown == 0 ? "\n" : ",\n");
            write_one(s, i, where, to);
        });
        if (fits) ++shown;
    });
    to.add("\n],\"left_out\":").add(s.valid() - shown).add("}\n");
}

}  // namespace coflux::detail::inspection
