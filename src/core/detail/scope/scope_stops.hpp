// The stops of a scope's children that no await has taken, until the scope ends. The page docs/design/stop.md says
// which count.
#pragma once

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/environment.hpp>

namespace coflux::detail {

class scope_stops {
public:
    /// `child`, made in `of`, was stopped, and is not awaited. Before it is released.
    static void record(environment& of, promise_base& child) noexcept;
    /// The same, unless it has views or callbacks: then record_shared() follows.
    static void record_unshared(environment& of, promise_base& child) noexcept;
    /// `child` has ended in whatever way, and no coroutine awaits its handle or a view of it.
    static void record_shared(environment& of, frame_control& child) noexcept;
    /// Asked of a joined scope once: true if a stop from above cut a child off, and the scope must say so.
    [[nodiscard]] static bool take(environment& e) noexcept;
    /// After take() of an object: true if `asker`, which joins or owns it, is to be stopped for that. Not where a
    /// join() has told of an earlier one, whose stop stays with the object, and `asker` is not asked to stop itself.
    [[nodiscard]] static bool concerns(environment& object, environment& asker) noexcept;
    /// `e`, an object that dies, has not been joined since: what take() says of it is its owner's to say.
    static void leave_to_owner(environment& e) noexcept;
};

}  // namespace coflux::detail
