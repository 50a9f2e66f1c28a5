// Is there an order of the operations of a history, each at one moment between its call and its return, in which a
// sequential object would have given the same results?
//
// Source: J. Wing, C. Gong, Testing and verifying concurrent objects, JPDC 17 (1993); the memo of failed configurations
// is G. Lowe's, Testing for linearizability, CCPE 29 (2017). Deviations: an operation that waits has two moments, its
// request and its service, which another operation brings about (the dual data structures of Scherer and Scott, DISC
// 2004, as in Lincheck); and one that a stop ends has no effect but that it stood in the queue, from its request to its
// withdrawal.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "linearizability/history.hpp"

namespace coflux_test::linearizability {

using op_set = std::uint64_t;
/// The position of an operation in the history that is checked.
using op_id = std::uint8_t;

/// The operations that one step brought to their ends, with their results.
class services {
public:
    struct one {
        op_id which;
        std::uint8_t result;
    };
    void add(op_id which, std::uint8_t result) noexcept { all_[size_++] = {which, result}; }
    [[nodiscard]] const one* begin() const noexcept { return all_.data(); }
    [[nodiscard]] const one* end() const noexcept { return all_.data() + size_; }

private:
    std::array<one, most_operations> all_;
    std::size_t size_ = 0;
};

/// A sequential object.
///
/// request(): the operation comes to the object. If it is served now it is among `done`, and with it those that it
///   serves; else it waits in the state. Where the object may choose, `choice` says how, below choices(); false: there
///   is no such choice now.
/// settle(), if it has it: an operation that waits and that choices() are for takes one of what it is offered; false:
///   it is not.
/// withdraw(): the operation waits no more, if it is still waiting. Those that thereby move up are in `done`.
template <typename S>
concept specification = std::has_unique_object_representations_v<typename S::state> &&
                        requires(const S& s, typename S::state& at, std::span<const operation> all, op_id id,
                                 unsigned choice, services& done) {
                            { s.initial() } -> std::same_as<typename S::state>;
                            { s.choices(all[0]) } -> std::same_as<unsigned>;
                            { s.request(at, all, id, choice, done) } -> std::same_as<bool>;
                            { s.withdraw(at, all, id, done) } -> std::same_as<void>;
                            { s.describe(all[0]) } -> std::same_as<std::string>;
                        };

template <specification S>
class checker {
public:
    /// Threads: one at a time. Costs: what it has allocated is used again.
    [[nodiscard]] bool linearizable(const S& s, const history& h) {
        specification_ = &s;
        operations_ = h;
        // In the order of their returns: then the first that is open bounds all that can come next.
        std::sort(operations_.begin(), operations_.end(),
                  [](const operation& a, const operation& b) { return a.returned < b.returned; });
        needed_ = 0;
        queued_ = 0;
        events_.clear();
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            const operation& o = operations_[i];
            const auto id = static_cast<op_id>(i);
            if (o.returned != never) needed_ |= op_set{1} << i;
            if (o.queued < o.returned) queued_ |= op_set{1} << i;
            events_.push_back({o.called, o.called, id, step::request});
            if (settles && s.choices(o) > 1) events_.push_back({o.called, o.called, id, step::settle});
            if (o.stop == never || (o.returned != never && !o.stopped)) continue;
            const moment earliest = std::max(o.called, o.stop);
            events_.push_back({earliest, earliest, id, step::withdraw});
            events_.push_back({earliest, never, id, step::skip});
        }
        std::sort(events_.begin(), events_.end(), [](const event& a, const event& b) {
            return a.guess != b.guess ? a.guess < b.guess : a.which < b.which;
        });
        failed_.clear();
        return search({0, 0, s.initial()});
    }
    /// How many configurations all searches have looked at.
    [[nodiscard]] std::uint64_t looked_at() const noexcept { return looked_at_; }

private:
    using state = typename S::state;

    static constexpr bool settles = requires(const S& s, state& at, std::span<const operation> all, services& done) {
        { s.settle(at, all, op_id{}, 0U, done) } -> std::same_as<bool>;
    };

    enum class step : std::uint8_t {
        request,
        settle,  ///< a close has found it
        withdraw,
        skip,  ///< it was stopped before it stood in a queue
    };
    struct event {
        moment earliest;
        moment guess;  // events are tried in this order; the order of calls is nearly always right
        op_id which;
        step what;
    };
    struct configuration {
        op_set begun;
        op_set ended;
        state at;

        friend bool operator==(const configuration& a, const configuration& b) noexcept {
            return a.begun == b.begun && a.ended == b.ended && std::memcmp(&a.at, &b.at, sizeof(state)) == 0;
        }
    };
    struct hash {
        std::size_t operator()(const configuration& c) const noexcept {
            std::uint64_t h = (c.begun * 0x9e3779b97f4a7c15U) ^ c.ended;
            const auto* const bytes = reinterpret_cast<const unsigned char*>(&c.at);
            for (std::size_t i = 0; i < sizeof(state); ++i) h = (h ^ bytes[i]) * 0x100000001b3U;
            return h ^ (h >> 32);
        }
    };

    bool search(const configuration& c) {
        ++looked_at_;
        if ((needed_ & ~c.ended) == 0) return true;
        if (!failed_.empty() && failed_.contains(c)) return false;
        const moment bound = bound_after(c);
        for (const event& e : events_) {
            const op_set which = op_set{1} << e.which;
            if (e.earliest >= bound || (c.ended & which) != 0) continue;
            const bool goes_on = e.what == step::withdraw || e.what == step::settle;
            if (((c.begun & which) != 0) != goes_on) continue;
            const bool chooses = e.what == step::request || e.what == step::settle;
            const unsigned choices = chooses ? specification_->choices(operations_[e.which]) : 1;
            for (unsigned choice = 0; choice < choices; ++choice) {
                configuration next = c;
                if (take(next, e, choice) && search(next)) return true;
            }
        }
        failed_.insert(c);
        return false;
    }

    /// Nothing that was called later can come next: an operation has returned, or stood in its queue.
    [[nodiscard]] moment bound_after(const configuration& c) const noexcept {
        moment bound = operations_[static_cast<std::size_t>(std::countr_one(c.ended))].returned;
        for (op_set left = queued_ & ~c.begun; left != 0; left &= left - 1)
            bound = std::min(bound, operations_[static_cast<std::size_t>(std::countr_zero(left))].queued);
        return bound;
    }

    /// False: what it brings about is not what was observed.
    bool take(configuration& c, const event& e, unsigned choice) {
        const op_set which = op_set{1} << e.which;
        services done;
        c.begun |= which;
        switch (e.what) {
        case step::request:
            if (!specification_->request(c.at, operations_, e.which, choice, done)) return false;
            break;
        case step::settle:
            if constexpr (settles) {
                if (!specification_->settle(c.at, operations_, e.which, choice, done)) return false;
            }
            break;
        case step::withdraw:
            specification_->withdraw(c.at, operations_, e.which, done);
            c.ended |= which;
            break;
        case step::skip: c.ended |= which; break;
        }
        for (const services::one& s : done) {
            const operation& o = operations_[s.which];
            if (o.returned != never && (o.stopped || o.result != s.result)) return false;
            c.ended |= op_set{1} << s.which;
        }
        return true;
    }

    const S* specification_ = nullptr;
    history operations_;
    std::vector<event> events_;
    op_set needed_ = 0;  // those that have returned
    op_set queued_ = 0;  // those of which it is known when they stood in a queue
    std::unordered_set<configuration, hash> failed_;
    std::uint64_t looked_at_ = 0;
};

/// The shortest beginning of `h` that is not linearizable; `h` itself if it is.
template <specification S>
history shortest_failing(const S& s, const history& h) {
    moment end = 0;
    for (const operation& o : h) end = std::max(end, o.returned + 1);
    checker<S> c;
    for (moment m = 1; m < end; ++m) {
        history beginning = cut(h, m);
        if (!c.linearizable(s, beginning)) return beginning;
    }
    return h;
}

}  // namespace coflux_test::linearizability
