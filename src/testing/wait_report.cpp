// A simulation's knowledge about the coroutines that are alive, as text.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"
#include "world.hpp"

namespace coflux::testing::detail {

using coflux::detail::environment_tree;
using coflux::detail::frame_control;
using coflux::detail::promise_base;
using coflux::detail::scope_children;
using coflux::detail::wait_operation;
namespace frame_flags = coflux::detail::frame_flags;

namespace {

constexpr std::size_t most_waits = 32;
constexpr std::size_t most_lines = 200;
constexpr std::size_t most_spins = 4;
constexpr std::size_t few_turns = 8;  // a loop that ends now and then yields so often, too

std::string text_of(const std::source_location& at) {
    return std::string(coflux::detail::readable_name(at.function_name()).c_str()) + " at " + at.file_name() + ":" +
           std::to_string(at.line());
}

/// The coroutine that holds what is waited for; nullptr: that is not known. It may have ended.
const environment* holder_of(const wait_operation& w) {
    const coflux::detail::wait_kind& kind = w.kind();
    if (kind.holder_at == coflux::detail::wait_kind::no_holder) return nullptr;
    const auto word_at = [](const void* thing, std::size_t offset) {
        std::uintptr_t word = 0;
        std::memcpy(&word, static_cast<const char*>(thing) + offset, sizeof word);
        return word;
    };
    const std::uintptr_t thing = word_at(&w, kind.of_at);
    return reinterpret_cast<environment*>(word_at(reinterpret_cast<void*>(thing), kind.holder_at) & ~std::uintptr_t{3});
}

std::string location_text_of(promise_base& p) {
    const std::source_location at = p.control().location();
    return at.line() == 0 ? "a coroutine that failed" : text_of(at);
}

/// Calls `f(promise_base&)` for each coroutine that is known to await `p`.
template <typename F>
void for_each_awaiter(promise_base& p, F f) {
    frame_control& c = p.control();
    if (c.word.has(frame_flags::inline_start)) return;  // its handle is in no hands yet
    const coflux::detail::join_snapshot own = c.join.own();
    if (own.done()) return;
    if (own.is_in_plain_await()) return f(*own.coroutine());
    for (coflux::detail::waiter* w = own.youngest(); w != nullptr; w = own.is_shared() ? w->next : nullptr) {
        if (w->coroutine != nullptr) f(*w->coroutine);
    }
}

/// The coroutines that are alive, found from the coroutines for which everything else waits in the end.
class census {
public:
    void add(promise_base& p, std::string note) {
        std::string& known = nodes_[at(p)].note;
        if (!known.empty() && !note.empty()) known += ", ";
        known += note;
    }
    void add_waits(coflux::detail::wait_record& root) {
        std::vector<wait_operation*> youngest_first;
        coflux::detail::for_each_wait(
            root,
            [](wait_operation& w, void* found) { static_cast<std::vector<wait_operation*>*>(found)->push_back(&w); },
            &youngest_first);
        for (auto w = youngest_first.rbegin(); w != youngest_first.rend(); ++w)
            add_wait((*w)->coroutine(), (*w)->kind().what, holder_of(**w));
    }
    void add_wait(promise_base& p, std::string_view what, const environment* holder = nullptr) {
        const std::string note = "waits for " + std::string(what);
        waits_.push_back({&p, note, holder});
        add(p, note);
    }

    [[nodiscard]] std::string text() {
        // Adds each awaiter of a known coroutine; the list grows meanwhile.
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            environment& e = *nodes_[i].e;
            if (environment_tree::is_object(e)) {
                if (promise_base* const joiner = scope_children::joiner(e)) add(*joiner, "joins an environment");
                continue;
            }
            promise_base& p = environment_tree::coroutine(e);
            for_each_awaiter(p, [this](promise_base& by) { (void)at(by); });
        }
        std::string out;
        if (!waits_.empty()) out += "waits:\n";
        for (std::size_t i = 0; i < waits_.size() && i < most_waits; ++i)
            write_wait(*waits_[i].coroutine, waits_[i].note + text_of_holder(waits_[i].holder), out);
        if (waits_.size() > most_waits) out += "  and " + std::to_string(waits_.size() - most_waits) + " more\n";
        if (!nodes_.empty()) out += "tasks:\n";
        lines_ = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_[i].is_root) write_tree(i, 1, out);
        }
        if (lines_ > most_lines) out += "  and " + std::to_string(lines_ - most_lines) + " more\n";
        return out;
    }

private:
    struct node {
        environment* e;
        std::string note;
        bool is_root = false;
        std::vector<std::size_t> below{};
    };

    struct wait {
        promise_base* coroutine;
        std::string note;
        const environment* holder;
    };

    /// Empty unless it is among the known: another one has ended.
    [[nodiscard]] std::string text_of_holder(const environment* e) const {
        const auto known = index_.find(e);
        return known == index_.end()
                   ? ""
                   : ", held by " + location_text_of(environment_tree::coroutine(*nodes_[known->second].e));
    }
    /// The node of `e`, made with the nodes of all environments above it.
    std::size_t at(environment& e) {
        std::size_t found = 0;
        bool is_new = false;
        environment* child = nullptr;
        for (environment* up = &e; up != nullptr; up = environment_tree::parent(*up)) {
            const auto [known, made] = index_.try_emplace(up, nodes_.size());
            if (made) nodes_.push_back({up, {}});
            if (child == nullptr) {
                found = known->second;
            } else if (is_new) {
                nodes_[known->second].below.push_back(index_[child]);
            }
            if (!made) return found;
            is_new = true;
            child = up;
        }
        nodes_[index_[child]].is_root = true;
        return found;
    }

    static void write_wait(promise_base& p, const std::string& note, std::string& out) {
        out += "  " + location_text_of(p) + " " + note + "\n";
        promise_base* by = &p;
        for (std::size_t left = most_waits; left != 0; --left) {
            promise_base* next = nullptr;
            for_each_awaiter(*by, [&next](promise_base& awaiting) { next = next != nullptr ? next : &awaiting; });
            const bool awaits = next != nullptr;
            for (environment* e = by->parent(); next == nullptr && e != nullptr; e = environment_tree::parent(*e)) {
                if (!environment_tree::is_object(*e)) next = &environment_tree::coroutine(*e);
            }
            if (next == nullptr) return;
            out += (awaits ? "    awaited by " : "    a child of ") + location_text_of(*next) + "\n";
            by = next;
        }
        out += "    and more above\n";
    }

    void write_tree(std::size_t from, std::size_t depth, std::string& out) {
        // Not a recursion: trees may be as deep as memory lasts.
        std::vector<std::pair<std::size_t, std::size_t>> left{{from, depth}};
        while (!left.empty()) {
            const auto [i, d] = left.back();
            left.pop_back();
            if (++lines_ <= most_lines) write_line(nodes_[i], d, out);
            const std::vector<std::size_t>& below = nodes_[i].below;
            for (auto b = below.rbegin(); b != below.rend(); ++b) left.emplace_back(*b, d + 1);
        }
    }

    static void write_line(const node& n, std::size_t depth, std::string& out) {
        out.append(2 * std::min<std::size_t>(depth, 40), ' ');
        std::string note = n.note;
        if (environment_tree::is_object(*n.e)) {
            out += n.is_root ? "environment" : "derived environment";
        } else {
            promise_base& p = environment_tree::coroutine(*n.e);
            out += location_text_of(p);
            const bool has_scope = p.control().word.has(frame_flags::scope_open);
            if (has_scope && !scope_children::count(*n.e).is_open()) note = "has ended, its children have not";
        }
        if (!note.empty()) out += ": " + note;
        out += '\n';
    }

    std::vector<node> nodes_;
    std::unordered_map<const environment*, std::size_t> index_;
    std::vector<wait> waits_;
    std::size_t lines_ = 0;
};

}  // namespace

void world::note_spin(promise_base& p) {
    const std::source_location at = p.control().location();
    const auto same = [&at](const spin& s) {
        return s.at.line() == at.line() && std::string_view(s.at.file_name()) == at.file_name();
    };
    const auto known = std::find_if(spins_.begin(), spins_.end(), same);
    if (known != spins_.end()) {
        ++known->turns;
    } else if (spins_.size() < most_spins) {
        spins_.push_back({at, 1});
    }
}

std::string world::livelock_text() const {
    std::string text = "livelock: no end after " + std::to_string(steps_) + " resumptions\n";
    for (const spin& s : spins_) {
        if (s.turns < few_turns) continue;
        text += "looks like a spin on yield() in " + text_of(s.at) +
                ": wait for what it looks for; some schedules let a loop on yield() run for ever\n";
    }
    return text;
}

std::string world::describe(frame_control* also) const {
    census alive;
    for (coflux::detail::wait_record* const r : roots_) alive.add_waits(*r);
    for (promise_base* const p : foreign_waits_) alive.add_wait(*p, "an awaitable of others");
    for (std::size_t i = first_; i < ready_.size(); ++i) {
        if (ready_[i].ours) alive.add(promise_base::of(frame_control::of(ready_[i].coroutine)), "is ready");
    }
    if (also != nullptr && !also->done()) alive.add(promise_base::of(*also), "");
    return alive.text() + parts_.describe();
}

}  // namespace coflux::testing::detail
