// An auto_reset_event, one operation after the other.
#pragma once

#include <span>
#include <string>

#include "linearizability/checker.hpp"
#include "linearizability/objects/line.hpp"

namespace coflux_test::linearizability {

struct auto_reset_event_specification {
    enum kind : std::uint8_t { wait, try_wait, set, reset };
    struct state {
        std::uint8_t on = 0;
        line waiting;
    };

    [[nodiscard]] state initial() const noexcept { return {}; }
    [[nodiscard]] unsigned choices(const operation&) const noexcept { return 1; }
    bool request(state& at, std::span<const operation> all, op_id id, unsigned, services& done) const noexcept {
        switch (all[id].kind) {
        case wait:
            if (at.on != 0) {
                at.on = 0;
                done.add(id, 1);
            } else {
                at.waiting.push_back(id);
            }
            break;
        case try_wait:
            done.add(id, at.on);
            at.on = 0;
            break;
        case set:
            done.add(id, 1);
            if (at.waiting.empty()) {
                at.on = 1;
            } else {
                done.add(at.waiting.pop_front(), 1);
            }
            break;
        default: at.on = 0; done.add(id, 1);
        }
        return true;
    }
    void withdraw(state& at, std::span<const operation>, op_id id, services&) const noexcept { at.waiting.remove(id); }
    [[nodiscard]] std::string describe(const operation& o) const {
        static const char* const names[] = {"wait()", "try_wait()", "set()", "reset()"};
        std::string text = names[o.kind];
        if (o.kind == try_wait && o.returned != never) text += o.result != 0 ? " -> true" : " -> false";
        return text;
    }
};
static_assert(specification<auto_reset_event_specification>);

}  // namespace coflux_test::linearizability
