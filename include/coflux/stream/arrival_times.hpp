// arrival_times: a stage that gives values the time at which they come in, for windows and timers by processing time.
#pragma once

#include <chrono>

#include <coflux/stream/event_times.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream {

namespace detail {

/// The time of day; on the thread of a simulation its virtual time, from the epoch on.
[[nodiscard]] event_time time_of_day() noexcept;
void check_arrival(std::chrono::nanoseconds every);

template <typename Next>
class arrival_times_operator : public stage_operator<Next> {
public:
    explicit arrival_times_operator(Next next) : stage_operator<Next>(std::move(next)) {}
    template <typename In>
    void process(place& at, In& value) {
        at.time = static_cast<const watermarks*>(at.times)->arrival();
        this->next().process(at, value);
    }
};

}  // namespace detail

/// `arrival_times()`: the time of a value is that at which its batch was read. So windows and timers behind it go by
/// processing time: `from(s) | arrival_times() | by_key(f) | window(tumbling(1min), count()) | to(sink)`. It comes
/// before the first partitioner, in place of event_times().
///
/// Units: `every`: a window or timer acts this much after its end, at most, also where nothing comes.
/// Returns: a stage. No value is late: the watermark of all partitions is the present, and goes on while nothing comes.
/// A record that is read again after a crash has another time.
/// Errors: std::invalid_argument where `every` is not positive.
/// Costs: one look at the clock for a batch, and a parcel on each link each `every`. An idle job is woken so often.
struct arrival_times {
    using stage_type = arrival_times;
    std::chrono::nanoseconds every;
    explicit arrival_times(std::chrono::nanoseconds e = std::chrono::milliseconds(100)) : every(e) {
        detail::check_arrival(e);
    }

    template <typename In, typename Key>
    using output = In;
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::arrival_times_operator<Next>(std::move(next));
    }
};

namespace detail {
template <>
inline constexpr bool is_event_times<arrival_times> = true;
}  // namespace detail

}  // namespace coflux::stream
