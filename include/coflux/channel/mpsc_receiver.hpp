// The receiving end of an mpsc channel, bounded or not.
#pragma once

#include <coflux/channel/detail/mpsc_state.hpp>
#include <coflux/channel/detail/queue_ends.hpp>

namespace coflux {

/// The receiving end of make_mpsc() and make_unbounded_mpsc(). It gives the values of one sender in the order in which
/// they were sent.
///
/// Shapes: shares the channel's state with the senders; move-only. Its death closes the channel and drops what was not
/// received.
/// Threads: one at a time; any thread.
template <typename T>
class [[nodiscard("its death closes the channel")]] mpsc_receiver
    : public detail::queue_receiver<T, detail::mpsc_state<T>, detail::mpsc_receiving> {
public:
    using detail::queue_receiver<T, detail::mpsc_state<T>, detail::mpsc_receiving>::queue_receiver;
};

}  // namespace coflux
