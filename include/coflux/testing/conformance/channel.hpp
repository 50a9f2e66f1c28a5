// The laws of a channel as checks, for foreign channels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/task.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/testing/conformance/detail/subject.hpp>
#include <coflux/testing/conformance/violation.hpp>
#include <coflux/testing/manual_executor.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing {

/// Each law of channels as a function of a maker, which gives what broke it.
///
/// Shapes: `make()` gives an open, empty channel of int, by value. `co_await c.send(std::move(i))` gives true once it
/// is sent, and false if the channel is closed. `co_await c.receive()` gives an optional int, nothing once the channel
/// is closed and empty. `c.close()` closes, whatever waits. A channel with two ends is an object that holds both, if
/// one of them can close it so. `static constexpr std::size_t senders = 1`, and likewise `receivers`, say how many may
/// use it at a time; without them there is no limit.
namespace channel_laws {

template <typename Make>
using channel_of = decltype(std::declval<Make&>()());

template <typename C>
constexpr std::size_t senders_of(std::size_t wanted) {
    if constexpr (requires { C::senders; }) wanted = std::min(wanted, std::size_t{C::senders});
    return wanted;
}
template <typename C>
constexpr std::size_t receivers_of(std::size_t wanted) {
    if constexpr (requires { C::receivers; }) wanted = std::min(wanted, std::size_t{C::receivers});
    return wanted;
}
template <typename C>
inline constexpr bool can_be_stopped = coflux::detail::native_awaitable<decltype(std::declval<C&>().send(1))> &&
                                       coflux::detail::native_awaitable<decltype(std::declval<C&>().receive())>;

/// An event at one end.
struct record {
    int sent = 0;
    int refused = 0;
    int ends = 0;  // receivers that learnt of the end
    std::vector<int> got;
};

/// The first values of a sender.
inline std::vector<int> first(int n) {
    std::vector<int> values;
    for (int i = 0; i < n; ++i) values.push_back(i);
    return values;
}

namespace coroutines {

template <typename E, typename C>
task<void, E> sends(environment&, C* c, int first, int n, record* r) {
    for (int i = 0; i < n; ++i) {
        int value = first + i;
        const bool sent = static_cast<bool>(co_await c->send(std::move(value)));
        ++(sent ? r->sent : r->refused);
        if (!sent) break;
    }
}
template <typename E, typename C>
task<void, E> receives(environment&, C* c, int n, record* r) {
    for (int i = 0; i < n; ++i) {
        auto got = co_await c->receive();
        if (!got) {
            ++r->ends;
            break;
        }
        r->got.push_back(*got);
    }
}

/// A channel whose users run on the check's own thread, when it says so.
template <typename Make>
class bench {
    using channel_type = channel_of<Make>;
    using stage_type = detail::room<channel_type, manual_executor>;

public:
    bench(const char* law, Make& make, const conformance_options& options)
        : law_(law),
          options_(options),
          stage_(std::make_shared<stage_type>(make)) {}

    channel_type& channel() noexcept { return stage_->thing; }
    record& seen() noexcept { return *record_; }
    /// Runs until no coroutine goes on by itself.
    void settle() { stage_->subject.run_all(); }
    void sends(int first, int n) {
        roots_.push_back(coroutines::sends<manual_executor>(stage_->env, &channel(), first, n, record_.get()));
        settle();
    }
    void receives(int n) {
        roots_.push_back(coroutines::receives<manual_executor>(stage_->env, &channel(), n, record_.get()));
        settle();
    }
    /// Values are sent until there is no slot; false if there always is.
    bool fill() {
        sends(0, limit);
        return record_->sent != limit;
    }
    void stop_last() {
        roots_.back().request_stop();
        settle();
        if (!roots_.back().done()) fail("a stop did not end its wait");
    }
    void close() { channel().close(); }
    void expect(bool holds, const char* otherwise) {
        if (!holds) fail(otherwise);
    }
    /// Closes the channel, lets all end, and gives what was wrong.
    violations end() {
        close();
        if (!detail::all_end(stage_, roots_, options_.patience))
            fail("a coroutine waits although the channel is closed");
        if (roots_.empty()) detail::keep_for_ever(record_);
        return std::move(found_);
    }

    static constexpr int limit = 1000;

private:
    void fail(const char* seen) { found_.push_back({law_, seen}); }

    const char* law_;
    conformance_options options_;
    std::shared_ptr<stage_type> stage_;
    std::shared_ptr<record> record_ = std::make_shared<record>();
    std::vector<task<void, manual_executor>> roots_;
    violations found_;
};

}  // namespace coroutines

/// The values of one sender arrive in its order, and all of them.
template <typename Make>
violations delivers_in_order(Make make, const conformance_options& options = {}) {
    coroutines::bench<Make> on("delivers_in_order", make, options);
    on.sends(0, 100);
    on.receives(100);
    on.expect(on.seen().got == first(100), "other values than those sent, or in another order");
    return on.end();
}

/// A sender waits for a slot, and one slot lets one value in.
template <typename Make>
violations makes_senders_wait_for_a_place(Make make, const conformance_options& options = {}) {
    coroutines::bench<Make> on("makes_senders_wait_for_a_place", make, options);
    if (on.fill()) {
        const int sent = on.seen().sent;
        on.receives(1);
        on.expect(on.seen().got == first(1), "the first value was not received");
        on.expect(on.seen().sent == sent + 1, "a slot did not let exactly one value in");
    }
    return on.end();
}

/// A receiver waits for a value.
template <typename Make>
violations makes_receivers_wait_for_a_value(Make make, const conformance_options& options = {}) {
    coroutines::bench<Make> on("makes_receivers_wait_for_a_value", make, options);
    on.receives(1);
    on.expect(on.seen().got.empty() && on.seen().ends == 0, "a receiver went on although there is no value");
    on.sends(7, 1);
    on.expect(on.seen().got == std::vector<int>{7}, "a receiver that waits did not get the value");
    return on.end();
}

/// A value that was sent before the close is received; a send that waits is refused, and its value never arrives.
template <typename Make>
violations keeps_what_was_sent_before_the_close(Make make, const conformance_options& options = {}) {
    coroutines::bench<Make> on("keeps_what_was_sent_before_the_close", make, options);
    const bool bounded = on.fill();
    const int sent = on.seen().sent;
    on.close();
    on.settle();
    on.expect(!bounded || on.seen().refused == 1, "a sender that waits was not refused by the close");
    on.receives(on.limit + 1);
    on.expect(on.seen().got == first(sent), "other values arrived than those that were sent before the close");
    on.expect(on.seen().ends == 1, "a receiver did not learn that nothing more can come");
    return on.end();
}

/// A close wakes the receivers that wait, and runs none of them.
template <typename Make>
violations wakes_receivers_by_the_close(Make make, const conformance_options& options = {}) {
    coroutines::bench<Make> on("wakes_receivers_by_the_close", make, options);
    const int n = static_cast<int>(receivers_of<channel_of<Make>>(3));
    for (int i = 0; i < n; ++i) on.receives(1);
    on.close();
    on.expect(on.seen().ends == 0, "close() ran a receiver");
    on.settle();
    on.expect(on.seen().ends == n, "a receiver that waits was not woken by the close");
    return on.end();
}

/// After the close nothing is sent.
template <typename Make>
violations refuses_after_the_close(Make make, const conformance_options& options = {}) {
    coroutines::bench<Make> on("refuses_after_the_close", make, options);
    on.close();
    on.sends(0, 1);
    on.expect(on.seen().refused == 1 && on.seen().sent == 0, "a value was sent after the close");
    on.receives(1);
    on.expect(on.seen().got.empty() && on.seen().ends == 1, "a value arrived that was sent after the close");
    return on.end();
}

/// A receive that is stopped has taken nothing, and waits no longer.
template <typename Make>
violations takes_nothing_when_stopped(Make make, const conformance_options& options = {}) {
    if constexpr (can_be_stopped<channel_of<Make>>) {
        coroutines::bench<Make> on("takes_nothing_when_stopped", make, options);
        on.receives(1);
        on.stop_last();
        on.sends(5, 1);
        on.receives(1);
        on.expect(on.seen().got == std::vector<int>{5}, "a value was lost to a receive that had been stopped");
        return on.end();
    }
    return {};
}

/// A send that is stopped has sent nothing.
template <typename Make>
violations sends_nothing_when_stopped(Make make, const conformance_options& options = {}) {
    if constexpr (can_be_stopped<channel_of<Make>>) {
        coroutines::bench<Make> on("sends_nothing_when_stopped", make, options);
        if (on.fill()) {
            const int sent = on.seen().sent;
            on.stop_last();
            on.close();
            on.receives(on.limit + 1);
            on.expect(on.seen().got == first(sent),
                      "the value of a send arrived that had been stopped, or another was lost");
        }
        return on.end();
    }
    return {};
}

/// On several threads: each value arrives once, and the values of one sender in its order at each receiver.
template <typename Make>
violations loses_nothing_between_threads(Make make, const conformance_options& options = {}) {
    using channel_type = channel_of<Make>;
    using stage_type = detail::room<channel_type, thread_pool_executor>;
    using root = task<void, thread_pool_executor>;
    constexpr const char* law = "loses_nothing_between_threads";
    const std::size_t senders = senders_of<channel_type>(3);
    const std::size_t receivers = receivers_of<channel_type>(3);
    const int each = static_cast<int>(options.many);
    auto stage = std::make_shared<stage_type>(make, options.threads);
    auto seen = std::make_shared<std::vector<record>>(senders + receivers);
    std::vector<root> sending;
    std::vector<root> receiving;
    for (std::size_t i = 0; i < receivers; ++i)
        receiving.push_back(coroutines::receives<thread_pool_executor>(
            stage->env, &stage->thing, static_cast<int>(senders) * each + 1, &(*seen)[senders + i]));
    for (std::size_t i = 0; i < senders; ++i)
        sending.push_back(coroutines::sends<thread_pool_executor>(stage->env, &stage->thing, static_cast<int>(i) * each,
                                                                  each, &(*seen)[i]));
    const bool sent = detail::all_end(stage, sending, options.patience);
    stage->thing.close();
    const bool received = detail::all_end(stage, receiving, options.patience);
    if (!sent || !received) {
        if (sending.empty() || receiving.empty()) detail::keep_for_ever(seen);
        return {{law, sent ? "a receiver did not learn of the end" : "a sender waited for ever"}};
    }
    std::vector<int> times(senders * options.many);
    bool in_order = true;
    for (std::size_t i = 0; i < receivers; ++i) {
        std::vector<int> last(senders, -1);
        for (const int value : (*seen)[senders + i].got) {
            const auto at = static_cast<std::size_t>(value);
            if (at >= times.size()) return {{law, "a value arrived that was not sent"}};
            ++times[at];
            in_order = in_order && last[at / options.many] < value;
            last[at / options.many] = value;
        }
    }
    violations found;
    if (std::any_of(times.begin(), times.end(), [](int n) { return n != 1; }))
        found.push_back({law, "a value did not arrive exactly once"});
    if (!in_order) found.push_back({law, "the values of one sender arrived in another order"});
    return found;
}

}  // namespace channel_laws

/// All laws of channels.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_channel(Make make, const conformance_options& options = {}) {
    violations found;
    const auto add = [&](violations more) { found.insert(found.end(), more.begin(), more.end()); };
    add(channel_laws::delivers_in_order(make, options));
    add(channel_laws::makes_senders_wait_for_a_place(make, options));
    add(channel_laws::makes_receivers_wait_for_a_value(make, options));
    add(channel_laws::keeps_what_was_sent_before_the_close(make, options));
    add(channel_laws::wakes_receivers_by_the_close(make, options));
    add(channel_laws::refuses_after_the_close(make, options));
    add(channel_laws::takes_nothing_when_stopped(make, options));
    add(channel_laws::sends_nothing_when_stopped(make, options));
    if (found.empty()) add(channel_laws::loses_nothing_between_threads(make, options));
    return found;
}

}  // namespace coflux::testing

COFLUX_TYPES_OF_USERS_END
