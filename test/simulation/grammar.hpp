// Random programs over the public API: what one consists of, and what must come of each part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace coflux_simulations {

/// The kind of a part of a program. A part is a coroutine of its own: a call, or a fork where its parent makes one.
enum class part : std::uint8_t {
    // Parts without parts.
    value,
    yields,
    sleeps,
    timed,           ///< a timer that fires, is moved, outlasts a limit, or is stopped
    metered,         ///< takes permits of a rate_limiter, one each 10 ms
    waits_for_ever,  ///< until it is stopped
    fails,
    stops,
    // Parts of parts.
    sequence,      ///< awaits one after the other
    forked,        ///< awaits a fork
    viewed,        ///< awaits a view of a fork
    attached,      ///< leaves its children to its scope
    dropped,       ///< the same, by the death of their handles
    abandons,      ///< throws while its children run
    outcome,       ///< takes whatever comes as an outcome
    caught,        ///< goes on after an error
    limited,       ///< timeout of a call
    limited_fork,  ///< deadline of a fork
    all,
    all_outcomes,
    any,
    success,    ///< first_success
    some,       ///< when_n
    each,       ///< for_each_concurrent
    scope,      ///< with_scope: children that borrow a local of this part, and a block
    collect,    ///< the same, and no error stops the rest
    nearer,     ///< an environment with a deadline
    stopped,    ///< stops its child after a while
    piped,      ///< two stages and a channel between them
    nested,     ///< a combinator of a combinator of forks, moved in
    finished,   ///< takes forks as they finish: all, or leaves after the first
    delayed,    ///< takes its children from a delay_queue, in their order, and awaits each
    changed,    ///< waits for a condition that its child changes, no longer than `amount`
    result,     ///< as_result of a call or a fork
    selected,   ///< select of a range of forks, alone or beside other cases
    throttled,  ///< its children share a rate_limiter
    moved,      ///< its children wait for a timer, which is moved or stopped meanwhile
    streamed,   ///< read_to_end or copy of a source that awaits a child for each byte
    elsewhere,  ///< awaits a fork of another executor, on a pool one of another priority
    lists,      ///< awaits a child for each entry of a directory
    starts,     ///< output_of a program, then a child: on a pool alone, as no simulation has processes
};
constexpr std::size_t leaves = static_cast<std::size_t>(part::stops) + 1;
constexpr std::size_t parts = static_cast<std::size_t>(part::starts) + 1;

/// Where a program runs.
enum class world : std::uint8_t {
    simulated,  ///< in virtual time: each part ends in time
    threads,    ///< in the machine's: any part may take for ever, and any limit may pass
};

/// Milliseconds of virtual time.
using moment = std::int64_t;
constexpr moment never = std::int64_t{1} << 40;

/// The possible ends of a part whose stop is not requested, and when at the latest. With a request it may stop at any
/// time, or give a value all the same; it ends at once, because every wait here is a stop point.
struct bounds {
    bool value = false;
    bool error = false;
    bool stop = false;
    bool error_if_stopped =
        false;  ///< with a request, it stops where it would have taken an error: an error wins over a stop
    moment latest = 0;
};

struct node {
    part what = part::value;
    std::size_t amount = 0;  ///< of milliseconds, yields, or how many of the children
    std::size_t form = 0;    ///< which of several ways to write it
    std::vector<node> children;
    bounds may;
};

/// Gives a number below its argument, which is 1 to 256; 0 for ever once there are no more choices.
using choices = std::function<std::size_t(std::size_t)>;

/// A program and what may come of it. At most 64 parts, 7 deep.
node random_program(const choices& choose, world runs_in);

/// The program as text, for people.
std::string to_text(const node& n);

}  // namespace coflux_simulations
