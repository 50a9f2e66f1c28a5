// sink: where the outputs of a stream job go.
#pragma once

#include <concepts>
#include <optional>
#include <span>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream {

/// Takes records of `T`.
///
/// Laws: `co_await s.write(here, records)` has taken all of them when it returns; when it throws, it is called again
/// with the same ones, or with parts of these in their order, and what it has taken before may come twice. It may move
/// the values out only once it cannot fail any more. A write that is stopped has taken all, some or none of them.
/// `co_await s.flush(here)` returns when all that was written will survive the process, as far as the sink can tell. A
/// flush that throws ends the run. The next one gives again what was not flushed. One coroutine at a time uses it.
///
/// coflux::testing::check_sink() checks a type by them, and by those of a transactional_sink.
template <typename S, typename T>
concept sink_of = requires(S& s, environment& here, std::span<record<T>> records) {
    { s.write(here, records) } -> std::same_as<call<void>>;
    { s.flush(here) } -> std::same_as<call<void>>;
};

/// A sink whose outputs appear together with the positions of their inputs, or not at all.
///
/// Laws: `begin` opens a transaction; `commit(here, positions)` makes visible what was written since, with the
/// positions, at one point; `abort` forgets it. A record that is written again, because a write of it has thrown, is in
/// the transaction once: either a write that throws has taken none, or the next one knows what it has taken. The next
/// one is of the same records in the same place, or of a part of them, and no other comes between. `committed(here)`
/// gives the positions of the last commit, also after a crash; none if there was none. It is called before the first
/// begin, and fences what an earlier run has left open. A commit that throws or is stopped has happened or not, and
/// nothing more is written in this run: the next one is told.
template <typename S>
concept transactional_sink = requires(S& s, environment& here, const positions& done) {
    { s.begin(here) } -> std::same_as<call<void>>;
    { s.commit(here, done) } -> std::same_as<call<void>>;
    { s.abort(here) } -> std::same_as<call<void>>;
    { s.committed(here) } -> std::same_as<call<std::optional<positions>>>;
};

}  // namespace coflux::stream
