// event_times: a stage that says when a value has happened.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <ratio>
#include <utility>
#include <vector>

#include <coflux/stream/stage.hpp>

namespace coflux::stream {

namespace detail {

/// The watermarks of a source's partitions. Differences saturate at both ends of time.
class watermarks {
public:
    explicit watermarks(event_time::duration lateness) noexcept : lateness_(lateness) {}

    void note(std::uint32_t partition, event_time t) {
        if (partition >= of_.size()) [[unlikely]]
            of_.resize(partition + 1);
        one& p = of_[partition];
        p.latest = std::max(p.latest, t);
        p.has_given = true;
    }
    /// By processing time: all partitions are at `now`, unless the clock went back.
    void arrive(event_time now) noexcept { arrival_ = std::max(arrival_, now); }
    [[nodiscard]] event_time arrival() const noexcept { return arrival_; }
    /// Partitions that have given nothing since the last call with `true` are idle until they give something.
    void look_for_idle() noexcept {
        (void)now();  // what was reached stays
        for (one& p : of_) {
            p.is_idle = !p.has_given;
            p.has_given = false;
        }
    }
    /// The least of the partitions that are not idle, the latest where all are; never goes back.
    [[nodiscard]] event_time now() noexcept {
        if (arrival_ != no_time) return arrival_;
        event_time least = end_of_time;
        event_time latest = no_time;
        for (const one& p : of_) {
            // [stream.watermark.idle]
            if (!p.is_idle || p.has_given) least = std::min(least, p.latest);
            latest = std::max(latest, p.latest);
        }
        reached_ = std::max(reached_, earlier(std::min(least, latest)));
        return reached_;
    }
    /// A partition that is not idle is behind another one.
    [[nodiscard]] bool is_held() const noexcept {
        event_time least = end_of_time;
        event_time latest = no_time;
        for (const one& p : of_) {
            if (!p.is_idle || p.has_given) least = std::min(least, p.latest);
            latest = std::max(latest, p.latest);
        }
        return least < latest;
    }
    /// That of one partition: no_time where it has given nothing.
    [[nodiscard]] event_time of(std::uint32_t partition) const noexcept {
        if (arrival_ != no_time) return arrival_;
        return partition < of_.size() ? earlier(of_[partition].latest) : no_time;
    }
    /// A partition that is known and gives nothing holds the watermark, until it is idle.
    void add(std::uint32_t partition) { note(partition, no_time); }
    /// A partition that gives nothing more is idle at once.
    void end(std::uint32_t partition) noexcept {
        (void)now();  // what was reached stays
        if (partition >= of_.size()) return;
        of_[partition].is_idle = true;
        of_[partition].has_given = false;
    }
    /// A partition that is gone does not hold it any more.
    void remove(std::uint32_t partition) noexcept {
        if (partition < of_.size()) of_[partition] = {no_time, false, true};
    }

private:
    struct one {
        event_time latest = no_time;
        bool has_given = false;
        bool is_idle = true;
    };
    // The end of time is that of the source: a record that has it for its time ends nothing.
    [[nodiscard]] event_time earlier(event_time t) const noexcept {
        return t < no_time + lateness_ ? no_time : std::min(t - lateness_, end_of_time - event_time::duration(1));
    }

    event_time::duration lateness_;
    event_time reached_ = no_time;
    event_time arrival_ = no_time;
    std::vector<one> of_;
};

[[noreturn]] void refuse_time();

/// Errors: std::out_of_range for a time that is before or behind all of event_time.
template <typename Duration>
[[nodiscard]] constexpr event_time event_time_of(std::chrono::sys_time<Duration> t) {
    // Coarser ones have more times than nanoseconds, and a floating one may be no number.
    if constexpr (std::chrono::treat_as_floating_point_v<typename Duration::rep> ||
                  std::ratio_greater_v<typename Duration::period, std::nano>) {
        constexpr auto most = std::chrono::duration_cast<Duration>(event_time::duration::max());
        if (!(t.time_since_epoch() < most && t.time_since_epoch() > -most)) refuse_time();
    }
    return std::chrono::time_point_cast<event_time::duration>(t);
}

template <typename F, typename Next>
class event_times_operator : public stage_operator<Next> {
public:
    event_times_operator(F f, Next next) : stage_operator<Next>(std::move(next)), f_(std::move(f)) {}
    template <typename In>
    void process(place& at, In& value) {
        at.time = event_time_of(std::invoke(f_, std::as_const(value)));
        static_cast<watermarks*>(at.times)->note(at.partition, at.time);
        this->next().process(at, value);
    }

private:
    [[no_unique_address]] F f_;
};

}  // namespace detail

/// `event_times(&order::time)`: when a value has happened. It comes before the first partitioner.
///
/// Shapes: a function, or a pointer to a member, that gives a std::chrono::sys_time.
/// Errors: std::out_of_range, of the record alone, for a time that 64 bits of nanoseconds since 1970 do not have:
/// before 1677 or behind 2262. A job reads the times of the source's records where a flow has no such stage.
template <typename F>
struct event_times {
    using stage_type = event_times;
    F f;
    explicit event_times(F g) : f(std::move(g)) {}

    template <typename In, typename Key>
    using output = In;
    template <typename In, typename Key>
    struct check {
        static constexpr bool ok = requires(F& of, const In& value) { detail::event_time_of(std::invoke(of, value)); };
        static void say() {
            static_assert(ok,
                          "coflux: the function of event_times() takes the flow's value as const T& or T, and gives a "
                          "std::chrono::sys_time; a number says neither its unit nor its epoch");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::event_times_operator<F, Next>(f, std::move(next));
    }
};

namespace detail {
template <typename S>
inline constexpr bool is_event_times = false;
template <typename F>
inline constexpr bool is_event_times<event_times<F>> = true;
}  // namespace detail

}  // namespace coflux::stream
