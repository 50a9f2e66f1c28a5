// receiver_source, sender_sink, generator_source: coroutines beside a job as its ends.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/channel/channel.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>
#include <coflux/stream/source.hpp>

namespace coflux::stream {

/// A type that values can be received from: a channel, or the receiver of one, of an mpsc or of an spsc.
template <typename R>
concept value_receiver = requires(std::remove_reference_t<R>& from) {
    from.receive();
    typename std::remove_cvref_t<decltype(from.try_receive())>::value_type;
};
/// A type that values of T can be sent to.
template <typename S, typename T>
concept value_sender = requires(std::remove_reference_t<S>& to, T& value) { to.send(std::move(value)); };

/// The values of a channel: `from(receiver_source(orders))`. It ends when the channel is closed and empty.
///
/// A batch is what is there at the time. Values that were received and are not committed when a job fails are lost: a
/// channel cannot be read again.
///
/// Shapes: a channel or receiver that has a name is used by reference, and outlives the run; a temporary is moved in.
/// One partition, "0"; `next` counts.
/// Stops, Threads: as a source.
template <value_receiver Receiver>
class receiver_source {
public:
    using value_type = typename std::remove_cvref_t<
        decltype(std::declval<std::remove_reference_t<Receiver>&>().try_receive())>::value_type;

    explicit receiver_source(Receiver&& from) : from_(std::forward<Receiver>(from)) {}

    [[nodiscard]] call<bool> read(environment&, batch<value_type>& into, std::size_t most) {
        std::optional<value_type> value = co_await from_.receive();
        if (!value) co_return false;
        for (std::size_t n = 1; value; ++n) {
            into.push_back({std::move(*value), no_time, ++next_, 0, 0, {}});
            value.reset();
            if (n != most) value = from_.try_receive();
        }
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }

private:
    Receiver from_;
    std::int64_t next_ = 0;
};
template <typename Receiver>
receiver_source(Receiver&&) -> receiver_source<Receiver>;

/// Sends each value to a channel: `| to(sender_sink(results))`. A full channel holds the job up.
///
/// Shapes: a channel or sender that has a name is used by reference, and outlives the run; a temporary is moved in.
/// Errors: std::runtime_error where the channel is closed.
/// Stops, Threads: as a sink.
template <typename Sender>
class sender_sink {
public:
    explicit sender_sink(Sender&& to) : to_(std::forward<Sender>(to)) {}

    template <typename T>
        requires value_sender<Sender, T>
    [[nodiscard]] call<void> write(environment&, std::span<record<T>> records) {
        for (record<T>& r : records) {
            const bool sent = co_await to_.send(std::move(r.value));
            if (!sent) throw std::runtime_error("coflux: the channel that a stream job sends to is closed");
        }
    }
    [[nodiscard]] call<void> flush(environment&) { co_return; }

private:
    Sender to_;
};
template <typename Sender>
sender_sink(Sender&&) -> sender_sink<Sender>;

/// Gives the elements of the async_generator that `make(here)` makes: `from(generator_source(ticks))`. A lambda brings
/// further arguments.
///
/// Each element is a batch, because the next one may take any time. Elements that were taken and are not committed when
/// a job fails are lost. Each run makes a generator, in its own environment: so a stop, a limit or a drain of the job
/// ends the waits of the generator, too.
///
/// Shapes: a function of an environment. One partition, "0"; `next` counts.
/// Errors: what the generator throws.
/// Stops, Threads: as a source.
/// Costs: a channel without a buffer between generator and reader.
template <typename Make>
class generator_source {
    using generator = std::invoke_result_t<Make&, environment&>;
    static_assert(
        requires(generator& g) { g.next(); },
        "coflux: generator_source(make): make(coflux::environment&) gives a coflux::async_generator");

public:
    using value_type = typename generator::value_type;

    explicit generator_source(Make make)
        : make_(std::move(make)),
          elements_(std::make_unique<channel<std::optional<value_type>[]>>()) {}

    [[nodiscard]] call<void> work(environment&, bool) {
        auto& here = co_await context();
        auto from = make_(here);
        while (auto* const element = co_await from.next()) {
            (void)co_await elements_->send(std::optional<value_type>(std::move(*element)));
        }
        (void)co_await elements_->send(std::nullopt);
    }
    [[nodiscard]] call<bool> read(environment&, batch<value_type>& into, std::size_t) {
        std::optional<value_type> element = *co_await elements_->receive();  // never closed
        if (!element) co_return false;
        into.push_back({std::move(*element), no_time, ++next_, 0, 0, {}});
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }

private:
    Make make_;
    std::unique_ptr<channel<std::optional<value_type>[]>> elements_;  // an empty one is the end of a run
    std::int64_t next_ = 0;
};

}  // namespace coflux::stream
