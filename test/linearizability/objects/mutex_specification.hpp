// A mutex, one operation after the other.
#pragma once

#include <span>
#include <string>

#include "linearizability/checker.hpp"
#include "linearizability/objects/line.hpp"

namespace coflux_test::linearizability {

struct mutex_specification {
    enum kind : std::uint8_t { lock, try_lock, unlock };
    struct state {
        std::uint8_t locked = 0;
        line waiting;
    };

    [[nodiscard]] state initial() const noexcept { return {}; }
    [[nodiscard]] unsigned choices(const operation&) const noexcept { return 1; }
    bool request(state& at, std::span<const operation> all, op_id id, unsigned, services& done) const noexcept {
        switch (all[id].kind) {
        case lock:
            if (at.locked != 0) {
                at.waiting.push_back(id);
            } else {
                at.locked = 1;
                done.add(id, 1);
            }
            break;
        case try_lock:
            done.add(id, at.locked == 0);
            at.locked = 1;
            break;
        default:
            done.add(id, 1);
            if (at.waiting.empty()) {
                at.locked = 0;
            } else {
                done.add(at.waiting.pop_front(), 1);  // handed over
            }
        }
        return true;
    }
    void withdraw(state& at, std::span<const operation>, op_id id, services&) const noexcept { at.waiting.remove(id); }
    [[nodiscard]] std::string describe(const operation& o) const {
        static const char* const names[] = {"lock()", "try_lock()", "unlock()"};
        std::string text = names[o.kind];
        if (o.kind == try_lock && o.returned != never) text += o.result != 0 ? " -> true" : " -> false";
        return text;
    }
};
static_assert(specification<mutex_specification>);

}  // namespace coflux_test::linearizability
