// A semaphore, one operation after the other.
#pragma once

#include <span>
#include <string>

#include "linearizability/checker.hpp"
#include "linearizability/objects/line.hpp"

namespace coflux_test::linearizability {

/// An operation's argument is the number of permits.
struct semaphore_specification {
    enum kind : std::uint8_t { acquire, try_acquire, release };
    struct state {
        std::uint8_t available = 0;
        line waiting;
    };
    std::uint8_t at_first = 0;

    [[nodiscard]] state initial() const noexcept { return {at_first, {}}; }
    [[nodiscard]] unsigned choices(const operation&) const noexcept { return 1; }
    bool request(state& at, std::span<const operation> all, op_id id, unsigned, services& done) const noexcept {
        const operation& o = all[id];
        const bool at_once = at.waiting.empty() && at.available >= o.argument;
        switch (o.kind) {
        case acquire:
            at.waiting.push_back(id);
            serve(at, all, done);
            break;
        case try_acquire:
            if (at_once) at.available = static_cast<std::uint8_t>(at.available - o.argument);
            done.add(id, at_once);
            break;
        default:
            at.available = static_cast<std::uint8_t>(at.available + o.argument);
            done.add(id, 1);
            serve(at, all, done);
        }
        return true;
    }
    void withdraw(state& at, std::span<const operation> all, op_id id, services& done) const noexcept {
        if (at.waiting.remove(id)) serve(at, all, done);
    }
    [[nodiscard]] std::string describe(const operation& o) const {
        static const char* const names[] = {"acquire", "try_acquire", "release"};
        std::string text = names[o.kind];
        text.append("(").append(std::to_string(o.argument)).append(")");
        if (o.kind == try_acquire && o.returned != never) text += o.result != 0 ? " -> true" : " -> false";
        return text;
    }

private:
    static void serve(state& at, std::span<const operation> all, services& done) noexcept {
        while (!at.waiting.empty() && all[at.waiting.front()].argument <= at.available) {
            const op_id next = at.waiting.pop_front();
            at.available = static_cast<std::uint8_t>(at.available - all[next].argument);
            done.add(next, 1);
        }
    }
};
static_assert(specification<semaphore_specification>);

}  // namespace coflux_test::linearizability
