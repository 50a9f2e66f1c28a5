// Which environments have a record of what waits in them, and since when.
//
// The page docs/design/stop.md has the protocol.
#pragma once

#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/core/environment.hpp>

namespace coflux::detail {

class wait_records {
public:
    /// The environment that has the record of what waits in `e`: `e` itself, or for a call an environment above;
    /// nullptr if that is above a root. Each longest_look-th of calls that call each other has a record, so that the
    /// way there is short.
    static environment* recorder(environment* e) noexcept;
    /// The record of the waits in and below `e`, a recorder(); nullptr if there is none. Pre: its scope is open.
    static wait_record* find(const environment& e) noexcept {
        // acquire pairs with the release in publish(): the record is complete, and so is the way up from it.
        // [stop.record.found]
        if ((e.marks_.load(memory_order_acquire) & environment::has_waits) == 0) return nullptr;
        return e.waits_;
    }
    /// find() with the record's lock held.
    static wait_record* find_locked(environment& e) noexcept;
    /// The record of `e`, a recorder(). Makes it, with the records above, if there is none. Throws std::bad_alloc
    /// before any effect.
    static wait_record& find_or_make(environment& e);
    /// Gives the environments above `e` their records, if there is memory: then requests find these environments, and
    /// they need not look up.
    static void make_above(environment& e) noexcept;
    /// The scope is joined: takes the record away, if there is one, and puts the failures back.
    static void end(environment& e) noexcept;

private:
    /// The first at or above `e` that has so many calls fewer on its way up, and may have a record. A generator may
    /// not: it looks at its children to see whether it can be destroyed.
    static environment* pass_calls(environment* e, std::uint32_t calls) noexcept;
    /// The environment that has the record above that of `e`.
    static environment* above(const environment& e) noexcept;
    /// The records from that of `e` up to the first environment that has one; not yet published. The
    /// topmost is on top.
    static intrusive_stack<wait_record> prepare(environment* e);
    /// Gives the environment of `made` its record, below the record `up`: `made`, or the one that another thread has
    /// published meanwhile.
    static wait_record& publish(wait_record& made, wait_record* up) noexcept;
    /// Takes the record of a joined scope out of the tree, and hands on what is below it.
    static void unlink(wait_record& r, wait_record& up) noexcept;
};

}  // namespace coflux::detail
