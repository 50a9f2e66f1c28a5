// One or two channels, one operation after the other; two, because a select looks at both.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "linearizability/checker.hpp"
#include "linearizability/objects/line.hpp"

namespace coflux_test::linearizability {

/// `argument` is the channel, 0 or 1, or of a select what its cases are; `value` what is sent, 1 to 63. The result is 1
/// or 0 for true or false, what was received or 0 for nothing; of a select the same with the case that won above it.
struct channel_specification {
    enum kind : std::uint8_t {
        send,
        receive,
        reserve,
        try_send,
        try_receive,
        try_reserve,
        permit_send,
        permit_dies,
        close,
        closed,
        drained,
        select,
    };
    // A select has one case at each channel: to receive, unless its argument says to send.
    static constexpr std::uint8_t sends_to_first = 1;
    static constexpr std::uint8_t sends_to_second = 2;
    static constexpr std::uint8_t with_otherwise = 4;
    static constexpr std::uint8_t otherwise_won = 2U << 6U;
    static constexpr std::size_t most_places = 4;

    struct channel {
        std::array<std::uint8_t, most_places> values{};
        std::uint8_t count = 0;
        std::uint8_t reserved = 0;
        std::uint8_t is_closed = 0;
        line senders;
        line receivers;
        // Selects that a close has found in a queue: their cases here can be done, with nothing. Each is settled, here
        // or elsewhere, before the close returns; but all of them not at one moment, since other channels go on
        // meanwhile.
        line offered;
        std::uint8_t closing = 0;  // the close that is about that: its id + 1
    };
    struct state {
        std::array<channel, 2> channels;
    };
    std::array<std::uint8_t, 2> capacity{};

    [[nodiscard]] state initial() const noexcept { return {}; }
    [[nodiscard]] unsigned choices(const operation& o) const noexcept { return o.kind == select ? 2 : 1; }
    bool request(state& at, std::span<const operation> all, op_id id, unsigned choice, services& done) const noexcept;
    void withdraw(state& at, std::span<const operation>, op_id id, services& done) const noexcept {
        leave(at, id, done);
    }
    /// A select that a close has found takes that case.
    bool settle(state& at, std::span<const operation> all, op_id id, unsigned choice, services& done) const noexcept;
    [[nodiscard]] std::string describe(const operation& o) const;

private:
    /// One operation and those that it serves.
    class step;

    /// It waits at no channel any more.
    static void leave(state& at, op_id who, services& done) noexcept {
        for (channel& c : at.channels) {
            c.senders.remove(who);
            c.receivers.remove(who);
            if (c.offered.remove(who)) end_close(c, done);
        }
    }
    static void end_close(channel& c, services& done) noexcept {
        if (c.closing == 0 || !c.offered.empty()) return;
        done.add(static_cast<op_id>(c.closing - 1), 1);
        c.closing = 0;
    }
};

class channel_specification::step {
public:
    step(const channel_specification& s, state& at, std::span<const operation> all, services& done) noexcept
        : spec_(s),
          at_(at),
          all_(all),
          done_(done) {}

    bool begin(op_id id, unsigned choice) noexcept {
        const operation& o = all_[id];
        if (o.kind == select) return begin_select(id, choice);
        const std::size_t where = o.argument;
        channel& c = at_.channels[where];
        int result = waits;
        switch (o.kind) {
        case send:
            result = sent(where, o.value);
            if (result == waits) c.senders.push_back(id);
            break;
        case receive:
            result = received(where);
            if (result == waits) c.receivers.push_back(id);
            break;
        case reserve:
            result = reserved(where);
            if (result == waits) c.senders.push_back(id);
            break;
        case try_send: result = sent(where, o.value) == 1; break;
        case try_receive:
            result = received(where);
            if (result == waits) result = 0;
            break;
        case try_reserve: result = reserved(where) == 1; break;
        case permit_send:
            --c.reserved;
            if (!c.receivers.empty()) {
                give(where, o.value);
                fill(where);
            } else {
                c.values[c.count++] = o.value;
            }
            end_if_drained(c);
            result = 1;
            break;
        case permit_dies:
            --c.reserved;
            fill(where);
            end_if_drained(c);
            result = 1;
            break;
        case close:
            if (c.is_closed != 0) {
                result = 1;
                break;
            }
            c.is_closed = 1;
            while (!c.senders.empty()) serve_nothing(c.senders, where);
            end_if_drained(c);
            c.closing = static_cast<std::uint8_t>(id + 1);
            end_close(c, done_);
            return true;
        case closed: result = c.is_closed; break;
        default: result = is_drained(c);
        }
        if (result != waits) done_.add(id, static_cast<std::uint8_t>(result));
        return true;
    }

private:
    static constexpr int waits = -1;

    /// Both cases are tried, `choice` first; so a choice that cannot be had now is none.
    bool begin_select(op_id id, unsigned choice) noexcept {
        const operation& o = all_[id];
        const int first = attempt(o, choice);
        if (first != waits) {
            done_.add(id, static_cast<std::uint8_t>((choice << 6U) | static_cast<unsigned>(first)));
            return true;
        }
        if (choice != 0 || can_be_done(o, 1)) return false;
        if ((o.argument & with_otherwise) != 0) {
            done_.add(id, otherwise_won);
            return true;
        }
        for (std::size_t where = 0; where < 2; ++where) {
            channel& c = at_.channels[where];
            (sends(o, where) ? c.senders : c.receivers).push_back(id);
        }
        return true;
    }
    static bool sends(const operation& o, std::size_t where) noexcept {
        return (o.argument & (where == 0 ? sends_to_first : sends_to_second)) != 0;
    }
    int attempt(const operation& o, std::size_t where) noexcept {
        return sends(o, where) ? sent(where, o.value) : received(where);
    }
    [[nodiscard]] bool can_be_done(const operation& o, std::size_t where) const noexcept {
        state after = at_;
        services none;
        return step(spec_, after, all_, none).attempt(o, where) != waits;
    }

    [[nodiscard]] bool has_place(std::size_t where) const noexcept {
        const channel& c = at_.channels[where];
        return c.count + c.reserved < spec_.capacity[where];
    }
    static bool is_drained(const channel& c) noexcept { return c.is_closed != 0 && c.count == 0 && c.reserved == 0; }

public:
    /// Ends the wait of one that is in a queue of the channel `where`, and leaves the other queue, if it is a
    /// select.
    void serve(op_id who, std::size_t where, std::uint8_t result) noexcept {
        leave(at_, who, done_);
        const bool selects = all_[who].kind == select;
        done_.add(who, static_cast<std::uint8_t>(selects ? (where << 6U) | result : result));
    }

private:
    void give(std::size_t where, std::uint8_t value) noexcept {
        serve(at_.channels[where].receivers.front(), where, value);
    }
    int sent(std::size_t where, std::uint8_t value) noexcept {
        channel& c = at_.channels[where];
        if (c.is_closed != 0) return 0;
        if (!c.receivers.empty()) {
            give(where, value);
        } else if (has_place(where)) {
            c.values[c.count++] = value;
        } else {
            return waits;
        }
        return 1;
    }
    int received(std::size_t where) noexcept {
        channel& c = at_.channels[where];
        if (c.count != 0) {
            const std::uint8_t oldest = c.values[0];
            --c.count;
            for (std::size_t i = 0; i < c.count; ++i) c.values[i] = c.values[i + 1];
            c.values[c.count] = 0;
            fill(where);
            return oldest;
        }
        for (const op_id sender : c.senders) {
            if (all_[sender].kind == reserve) continue;  // it waits for a slot, which this does not make
            const std::uint8_t value = all_[sender].value;
            serve(sender, where, 1);
            return value;
        }
        return c.is_closed != 0 && c.reserved == 0 ? 0 : waits;
    }
    int reserved(std::size_t where) noexcept {
        channel& c = at_.channels[where];
        if (c.is_closed != 0) return 0;
        if (!has_place(where)) return waits;
        ++c.reserved;
        return 1;
    }
    void fill(std::size_t where) noexcept {
        channel& c = at_.channels[where];
        while (has_place(where) && !c.senders.empty()) {
            const op_id first = c.senders.front();
            if (all_[first].kind == reserve) {
                ++c.reserved;
            } else {
                c.values[c.count++] = all_[first].value;
            }
            serve(first, where, 1);
        }
    }
    void end_if_drained(channel& c) noexcept {
        if (!is_drained(c)) return;
        const auto where = static_cast<std::size_t>(&c - at_.channels.data());
        while (!c.receivers.empty()) serve_nothing(c.receivers, where);
    }
    /// The first of a queue of a channel that is closed.
    void serve_nothing(line& queue, std::size_t where) noexcept {
        const op_id first = queue.front();
        if (all_[first].kind == select) {
            queue.remove(first);
            at_.channels[where].offered.push_back(first);
        } else {
            serve(first, where, 0);
        }
    }

    const channel_specification& spec_;
    state& at_;
    std::span<const operation> all_;
    services& done_;
};

inline bool channel_specification::request(state& at, std::span<const operation> all, op_id id, unsigned choice,
                                           services& done) const noexcept {
    return step(*this, at, all, done).begin(id, choice);
}

inline bool channel_specification::settle(state& at, std::span<const operation> all, op_id id, unsigned choice,
                                          services& done) const noexcept {
    const line& offered = at.channels[choice].offered;
    if (std::find(offered.begin(), offered.end(), id) == offered.end()) return false;
    step(*this, at, all, done).serve(id, choice, 0);
    return true;
}

inline std::string channel_specification::describe(const operation& o) const {
    static const char* const names[] = {"send",        "receive",     "reserve",     "try_send",
                                        "try_receive", "try_reserve", "permit.send", "permit dies",
                                        "close",       "closed",      "drained",     "select"};
    const std::string value = std::to_string(o.value);
    std::string text;
    const auto says = [&](const char* what, bool with_value) {
        text.append(what).append("(");
        if (with_value) text.append(value);
        text.append(")");
    };
    if (o.kind == select) {
        text.append("select(");
        const bool first = (o.argument & sends_to_first) != 0;
        const bool second = (o.argument & sends_to_second) != 0;
        says(first ? "a.send" : "a.receive", first);
        text.append(", ");
        says(second ? "b.send" : "b.receive", second);
        text.append((o.argument & with_otherwise) != 0 ? ", otherwise)" : ")");
    } else {
        text.append(o.argument == 0 ? "a." : "b.");
        says(names[o.kind], o.kind == send || o.kind == try_send || o.kind == permit_send);
    }
    if (o.stopped || o.returned == never) return text;
    text.append(" -> ");
    if (o.kind == select) text.append("case ").append(std::to_string(o.result >> 6U)).append(": ");
    return text.append(std::to_string(o.result & 63U));
}
static_assert(specification<channel_specification>);

}  // namespace coflux_test::linearizability
