// Cycles among the coroutines that wait for exactly what another one does. The page docs/design/inspect.md has the
// steps.
#include <coflux/inspect/deadlocks.hpp>

#include <algorithm>
#include <span>
#include <utility>

#include "inspect/places.hpp"
#include "inspect/report.hpp"

namespace coflux::detail::inspection {
namespace {

constexpr int looks = 8;                // at a cycle, before it is named
constexpr std::size_t most_shown = 32;  // coroutines of a cycle
constexpr std::size_t most_text = 64 * 1024;

/// Whom each coroutine waits for. A coroutine that joins waits for several, each other one for one at most.
class waits {
public:
    explicit waits(snapshot& of) noexcept
        : of_(of),
          bytes_((std::size_t{of.size()} + 1) * sizeof(node)),
          nodes_(static_cast<node*>(os::map_pages(bytes_))) {
        if (nodes_ == nullptr) return;
        of_.for_each([this](std::uint32_t i, const found_coroutine&) {
            nodes_[i] = {target_of(i), no_coroutine, no_coroutine, 0};
        });
        of_.for_each([this](std::uint32_t i, const found_coroutine& c) {
            node& n = nodes_[i];
            if (n.target != no_coroutine) {
                n.waits_for = 1;
                n.next_waiter = std::exchange(nodes_[n.target].first_waiter, i);
            }
            if (const std::uint32_t j = joiner_of(c); j != no_coroutine) ++nodes_[j].waits_for;
        });
        remove_those_that_go_on();
        of_.for_each([this](std::uint32_t i, const found_coroutine& c) {
            const std::uint32_t j = joiner_of(c);
            if (nodes_[i].waits_for != 0 && j != no_coroutine) nodes_[j].target = i;
        });
    }
    ~waits() {
        if (nodes_ != nullptr) os::unmap_pages(nodes_, bytes_);
    }
    waits(const waits&) = delete;
    waits& operator=(const waits&) = delete;

    /// Calls `f(members)` for each cycle.
    template <typename F>
    void for_each_cycle(F f) {
        if (nodes_ == nullptr) return;
        // Each walk marks where it was, by where it began.
        of_.for_each([this](std::uint32_t i, const found_coroutine&) { nodes_[i].first_waiter = no_coroutine; });
        std::vector<std::uint32_t> members;
        of_.for_each([&](std::uint32_t begin, const found_coroutine&) {
            std::uint32_t i = begin;
            while (nodes_[i].waits_for != 0 && nodes_[i].first_waiter == no_coroutine) {
                nodes_[i].first_waiter = begin;
                i = nodes_[i].target;
            }
            if (nodes_[i].waits_for == 0 || nodes_[i].first_waiter != begin || nodes_[i].next_waiter == i) return;
            members.clear();
            for (std::uint32_t m = i;;) {
                members.push_back(m);
                nodes_[m].next_waiter = m;  // named
                m = nodes_[m].target;
                if (m == i) break;
            }
            f(std::span<const std::uint32_t>(members));
        });
    }

private:
    struct node {
        std::uint32_t target;        // the one that it waits for
        std::uint32_t first_waiter;  // those that wait for this one
        std::uint32_t next_waiter;   //
        std::uint32_t waits_for;     // how many that do not go on
    };

    [[nodiscard]] std::uint32_t target_of(std::uint32_t i) noexcept {
        const found_coroutine& c = of_[i];
        std::uint32_t target = no_coroutine;
        if (c.moving) return target;
        if (c.state == coroutine_state::waits) target = c.holder;
        if (c.state == coroutine_state::awaits && of_.awaits_alone(i)) target = static_cast<std::uint32_t>(c.of);
        return target != no_coroutine && of_[target].valid ? target : no_coroutine;
    }
    [[nodiscard]] std::uint32_t joiner_of(const found_coroutine& c) const noexcept {
        return c.joined_by != no_coroutine && !of_[c.joined_by].moving ? c.joined_by : no_coroutine;
    }
    /// One that waits for none goes on, and so does one that waits for such ones alone.
    void remove_those_that_go_on() noexcept {
        std::uint32_t top = no_coroutine;  // a stack, by `target`
        const auto goes_on = [&](std::uint32_t i) { nodes_[i].target = std::exchange(top, i); };
        of_.for_each([&](std::uint32_t i, const found_coroutine&) {
            if (nodes_[i].waits_for == 0) goes_on(i);
        });
        while (top != no_coroutine) {
            const std::uint32_t i = std::exchange(top, nodes_[top].target);
            for (std::uint32_t w = nodes_[i].first_waiter; w != no_coroutine; w = nodes_[w].next_waiter) {
                if (--nodes_[w].waits_for == 0) goes_on(w);
            }
            if (const std::uint32_t j = joiner_of(of_[i]); j != no_coroutine && --nodes_[j].waits_for == 0) goes_on(j);
        }
    }

    snapshot& of_;
    std::size_t bytes_;
    node* nodes_;
};

/// The same waits, each time that it is looked.
bool stays(snapshot& s, std::span<const std::uint32_t> members) noexcept {
    for (int left = looks; left != 0; --left) {
        for (std::size_t begin = 0; begin < members.size(); begin += snapshot::most_at_once) {
            const std::size_t n = std::min(snapshot::most_at_once, members.size() - begin);
            if (!s.still_wait(members.data() + begin, n)) return false;
        }
    }
    return true;
}

void write_cycle(const snapshot& s, std::span<const std::uint32_t> members, places& where, bounded_text& to) noexcept {
    const std::size_t n = members.size();
    to.add(n).add(n == 1 ? " coroutine waits for itself:\n" : " coroutines wait for each other:\n");
    for (std::size_t i = 0; i < std::min(n, most_shown); ++i) {
        const found_coroutine& c = s[members[i]];
        const char* const other = n == 1 ? "itself" : i + 1 == n ? "the first" : "the next";
        to.add("    ");
        where.write(c.place, to);
        if (c.state == coroutine_state::waits) {
            char what[128];
            s.text_of_kind(c.kind, what, sizeof what);
            to.add(" waits for ").add(what).add(" at ").add_address(c.of).add(", held by ").add(other);
        } else if (c.state == coroutine_state::awaits) {
            to.add(" awaits ").add(other);
        } else {
            to.add(" waits for the ends of its children, among them ").add(other);
        }
        to.add("\n");
    }
    if (n > most_shown) to.add("    and ").add(n - most_shown).add(" more\n");
}

}  // namespace
}  // namespace coflux::detail::inspection

namespace coflux::inspect {

std::vector<std::string> deadlocks() {
    using namespace detail::inspection;
    std::vector<std::string> found;
    snapshot now;
    if (!now.complete()) return found;
    waits all(now);
    std::string text;
    all.for_each_cycle([&](std::span<const std::uint32_t> members) {
        // [deadlock.looks]
        if (!stays(now, members)) return;
        places where(now);
        if (!where) return;
        text.resize(most_text);
        bounded_text to(text.data(), text.size());
        write_cycle(now, members, where, to);
        found.emplace_back(to.view());
    });
    return found;
}

}  // namespace coflux::inspect
