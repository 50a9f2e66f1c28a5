// scope_policy: what the error of a child does to its siblings.
#pragma once

namespace coflux {

/// The effect of a child's error on the other children of its task_scope, with_scope or when_all.
enum class scope_policy {
    stop_on_error,  ///< the first error stops them; in a scope, the first whose handle is not awaited
    collect_all,    ///< nothing: they run to their ends
};

}  // namespace coflux
