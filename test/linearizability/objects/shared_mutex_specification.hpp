// A shared_mutex, one operation after the other.
#pragma once

#include <span>
#include <string>

#include "linearizability/checker.hpp"
#include "linearizability/objects/line.hpp"

namespace coflux_test::linearizability {

struct shared_mutex_specification {
    enum kind : std::uint8_t { lock, lock_shared, try_lock, try_lock_shared, unlock, unlock_shared };
    struct state {
        std::uint8_t written = 0;
        std::uint8_t readers = 0;
        line waiting;
    };

    [[nodiscard]] state initial() const noexcept { return {}; }
    [[nodiscard]] unsigned choices(const operation&) const noexcept { return 1; }
    bool request(state& at, std::span<const operation> all, op_id id, unsigned, services& done) const noexcept {
        const bool at_once = at.waiting.empty() && may_enter(at, all[id]);
        switch (all[id].kind) {
        case lock:
        case lock_shared:
            if (at_once) {
                enter(at, all[id]);
                done.add(id, 1);
            } else {
                at.waiting.push_back(id);
            }
            break;
        case try_lock:
        case try_lock_shared:
            if (at_once) enter(at, all[id]);
            done.add(id, at_once);
            break;
        case unlock:
            at.written = 0;
            done.add(id, 1);
            let_in(at, all, done);
            break;
        default:
            --at.readers;
            done.add(id, 1);
            let_in(at, all, done);
        }
        return true;
    }
    void withdraw(state& at, std::span<const operation> all, op_id id, services& done) const noexcept {
        if (at.waiting.remove(id)) let_in(at, all, done);
    }
    [[nodiscard]] std::string describe(const operation& o) const {
        static const char* const names[] = {"lock()",   "lock_shared()",  "try_lock()", "try_lock_shared()",
                                            "unlock()", "unlock_shared()"};
        std::string text = names[o.kind];
        if ((o.kind == try_lock || o.kind == try_lock_shared) && o.returned != never)
            text += o.result != 0 ? " -> true" : " -> false";
        return text;
    }

private:
    static bool writes(const operation& o) noexcept { return o.kind == lock || o.kind == try_lock; }
    static bool may_enter(const state& at, const operation& o) noexcept {
        return at.written == 0 && (at.readers == 0 || !writes(o));
    }
    static void enter(state& at, const operation& o) noexcept { ++(writes(o) ? at.written : at.readers); }
    static void let_in(state& at, std::span<const operation> all, services& done) noexcept {
        while (!at.waiting.empty() && may_enter(at, all[at.waiting.front()])) {
            const op_id next = at.waiting.pop_front();
            enter(at, all[next]);
            done.add(next, 1);
        }
    }
};
static_assert(specification<shared_mutex_specification>);

}  // namespace coflux_test::linearizability
