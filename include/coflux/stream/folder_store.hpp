// folder_store: checkpoints in a folder.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/checkpoint.hpp>

namespace coflux {
class blocking_pool;
}  // namespace coflux

namespace coflux::stream {

namespace detail {
class checkpoint_folder;
}  // namespace detail

/// How a folder_store keeps checkpoints.
struct folder_store_options {
    std::size_t keep = 2;  ///< how many can be loaded, the last ones; at least 2
    std::size_t full_every =
        16;                  ///< each n-th is full, those between have the slots that have changed; 1: all are full
    bool use_older = false;  ///< where the last one cannot be read, the one before is used; otherwise it is an error
    blocking_pool* pool = nullptr;  ///< whose threads wait for the drive; nullptr: blocking_pool::shared()
};

/// Checkpoints in a folder, each a file: `stream::job{.state = stream::folder_store("/var/lib/orders", "orders")}`.
///
/// A checkpoint is written under another name, synced, renamed, and the folder is synced: after a crash it is there as
/// a whole, or not at all. Each part has a checksum. Files that are no checkpoints stay as they are.
///
/// Shapes: a handle; copies are the same store. The folder belongs to one job, and to one run of it at a time.
/// Errors: std::invalid_argument for fewer than two to keep, or none between two full ones. corrupt_state, with the
/// file and the byte, for a checkpoint that is torn, changed, of another job, or of a newer version. std::system_error,
/// with the path, of the system: no permission, no space; the one before is still the last then. The folder is not
/// made: one that is missing is such an error, and no first run.
/// Stops: as file: what has begun is waited for. A store that is stopped has stored the checkpoint or not.
/// Threads: one coroutine at a time.
/// Costs: as file; a sync of a file and of a folder for each checkpoint. The first one of a run is full.
/// Lifetime: the pool outlives it.
class folder_store {
public:
    folder_store(std::string folder, std::string job, folder_store_options options = {});

    [[nodiscard("nothing is stored until this is awaited: co_await it")]] call<void> store(environment& here,
                                                                                           const checkpoint& c);
    [[nodiscard("nothing is loaded until this is awaited: co_await it")]] call<std::optional<checkpoint>>
    load(environment& here, const positions* wanted);

private:
    std::shared_ptr<detail::checkpoint_folder> folder_;
};
static_assert(state_store<folder_store>);

}  // namespace coflux::stream
