#include <coflux/stream/window.hpp>

#include <stdexcept>

#include <coflux/stream/event_times.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::stream::detail {

void check_window(event_time::duration size, event_time::duration slide) {
    if (slide.count() <= 0 || slide > size) {
        throw std::invalid_argument("coflux: windows have a positive length, and slide by a part of it, or all of it");
    }
}
void check_gap(event_time::duration gap) {
    if (gap.count() <= 0) throw std::invalid_argument("coflux: the gap of session() is not positive");
}
void check_count(std::uint64_t n) {
    if (n == 0) throw std::invalid_argument("coflux: by_count(0): a window has at least one value");
}
void check_early(event_time::duration every) {
    if (every.count() <= 0) throw std::invalid_argument("coflux: emit_early::every is not positive");
}
void check_kept(event_time::duration within) {
    if (within.count() < 0) throw std::invalid_argument("coflux: accept_late::within is negative");
}

void refuse_timeless() {
    throw std::invalid_argument(
        "coflux: a record has no time, and a window of time needs one: put event_times() before the first partitioner, "
        "or read a source that gives times");
}
void refuse_time() {
    throw std::out_of_range(
        "coflux: event_times() is given a time before 1677 or behind 2262, which 64 bits of nanoseconds do not have");
}
void refuse_other_windows() {
    throw corrupt_state("coflux: the stored state is that of windows of another size");
}

}  // namespace coflux::stream::detail
