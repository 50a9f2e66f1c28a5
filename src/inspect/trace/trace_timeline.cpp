#include "inspect/trace/trace_timeline.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace coflux::detail::tracing {
namespace {

std::string text_of_origin(std::uint64_t origin) {
    if (origin == own_queue) return {};
    if (origin == from_outside) return "outside";
    return "worker " + std::to_string(origin - victims);
}

}  // namespace

/// An end of an arrow.
struct timeline::sorted_event {
    std::uint64_t time;
    std::uint64_t coroutine;
    std::size_t item;
    bool begins;
};

timeline::timeline(std::chrono::nanoseconds last) {
    const std::vector<thread_events> all = copy_all();
    std::vector<sorted_event> ends;
    for (const thread_events& t : all) {
        threads_.push_back({t.owner.name, t.owner.thread, t.owner.dropped});
        add_thread(t, static_cast<std::uint32_t>(threads_.size() - 1), ends);
    }
    add_arrows(ends);
    const auto kept = static_cast<std::uint64_t>(std::max(last, std::chrono::nanoseconds(0)).count());
    if (kept < now()) std::erase_if(items_, [from = now() - kept](const item& i) { return i.end < from; });
    std::sort(items_.begin(), items_.end(), [](const item& a, const item& b) {
        return std::tie(a.begin, a.thread, b.end) < std::tie(b.begin, b.thread, a.end);
    });
}

/// A slice lasts until the next event that ends it, or until now. One that parks is a slice, too.
void timeline::add_thread(const thread_events& of, std::uint32_t index, std::vector<sorted_event>& ends) {
    constexpr std::size_t none = ~std::size_t{0};
    std::size_t open = none;
    const auto close = [&](std::uint64_t time) {
        if (open != none) items_[open].end = std::max(time, items_[open].begin);
        open = none;
    };
    const auto add = [&](const trace_event& e, item::shape kind, std::string name) -> item& {
        const std::uint64_t time = clock_.time_of(e.cycles);
        items_.push_back({kind, index, time, time, std::move(name), {}, {}});
        return items_.back();
    };
    for (const trace_event& e : of.events) {
        const std::uint64_t time = clock_.time_of(e.cycles);
        switch (e.kind()) {
        case trace_kind::begins:
        case trace_kind::ends:
        case trace_kind::wakes_up:
        case trace_kind::out_of_work: close(time); break;
        case trace_kind::parks:
            close(time);
            (void)add(e, item::shape::slice, "parked");
            open = items_.size() - 1;
            break;
        case trace_kind::runs: {
            close(time);
            item& i = add(e, item::shape::slice, name_of(e, ""));
            i.at = place(e.second).at;
            i.from = text_of_origin(e.argument());
            open = items_.size() - 1;
            ends.push_back({time, e.first, open, false});
            break;
        }
        case trace_kind::forks:
        case trace_kind::wakes:
        case trace_kind::takes_child: {
            const bool takes = e.kind() == trace_kind::takes_child;
            const char* const verb = takes ? "begins " : e.kind() == trace_kind::forks ? "forks " : "wakes ";
            item& i = add(e, item::shape::moment, name_of(e, verb));
            i.at = place(e.second).at;
            ends.push_back({time, e.first, items_.size() - 1, !takes});
            break;
        }
        case trace_kind::span: {
            std::string name = checked_text(e.second);
            item& i = add(e, item::shape::span, name.empty() ? "a span" : std::move(name));
            i.begin = clock_.time_of(e.first);
            break;
        }
        }
    }
    close(now());  // what it did last it still does
}

/// An arrow leads from the last fork or wake-up of a coroutine to the next moment at which that runs.
void timeline::add_arrows(std::vector<sorted_event>& of) {
    std::sort(of.begin(), of.end(), [](const sorted_event& a, const sorted_event& b) {
        return std::tie(a.time, a.item) < std::tie(b.time, b.item);
    });
    std::unordered_map<std::uint64_t, std::size_t> begun;  // of a coroutine that has not run since: the item
    std::uint64_t arrows = 0;
    for (const sorted_event& e : of) {
        if (e.begins) {
            begun[e.coroutine] = e.item;
        } else if (const auto from = begun.find(e.coroutine); from != begun.end()) {
            items_[from->second].arrow_out = items_[e.item].arrow_in = ++arrows;
            // [trace.arrows.once]
            begun.erase(from);
        }
    }
}

const place_text& timeline::place(std::uint64_t address) {
    const auto [at, is_new] = places_.try_emplace(address);
    if (is_new) at->second = checked_place(address);
    return at->second;
}

std::string timeline::name_of(const trace_event& e, const char* verb) {
    const std::string& function = place(e.second).function;
    return verb + (function.empty() ? std::string("a coroutine") : function);
}

}  // namespace coflux::detail::tracing
