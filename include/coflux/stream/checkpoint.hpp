// checkpoint: what a job needs to go on where it was committed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream {

/// The state of one slot of one region, as its operators have written it.
struct slot_state {
    std::uint32_t region = 0;
    std::uint32_t slot = 0;
    std::vector<std::byte> bytes;
};

/// State, and the positions that it is complete up to.
struct checkpoint {
    std::uint32_t slots = 0;
    positions at;
    std::vector<slot_state> states;
};

/// Keeps checkpoints.
///
/// Laws: a run loads before it stores, and stores nothing more once a store has failed. `co_await s.store(here,
/// checkpoint)` returns when a crash cannot take it away any more; until then the one before is the last. A store that
/// throws or is stopped has stored the checkpoint or not, and the one before is kept. `co_await s.load(here,
/// positions)` gives the checkpoint of these positions, or the last one where there are none; nothing where there is
/// none. A checkpoint behind the one that it gives is forgotten, at the latest by the next store: its outputs were not
/// committed. At least the two last ones are kept. A store that keeps the last one alone has a member `static constexpr
/// bool keeps_last_alone = true`, and no job with it is exactly once. One that has a member `void keep_two(bool)` is
/// told by it, before load(), whether the job is exactly once; if not, the last one is enough. A store that has the
/// name of its job refuses the checkpoint of another by an error.
///
/// coflux::testing::check_state_store() checks a type by them.
template <typename S>
concept state_store = requires(S& s, environment& here, const checkpoint& c, const positions* wanted) {
    { s.store(here, c) } -> std::same_as<call<void>>;
    { s.load(here, wanted) } -> std::same_as<call<std::optional<checkpoint>>>;
};

namespace detail {

template <typename S>
concept keeps_last_alone = requires { requires S::keeps_last_alone; };
// A store whose tables have states of a fold(). The engine says by positions that are empty that the sink has
// committed nothing: its states must not be those of a job that begins anew.
template <typename S>
concept has_tables = requires { requires S::has_tables; };

// A store, or what refers to one.
template <typename S>
S& store_of(S& store) noexcept {
    return store;
}
template <typename S>
S& store_of(std::reference_wrapper<S>& store) noexcept {
    return store.get();
}

}  // namespace detail

}  // namespace coflux::stream
