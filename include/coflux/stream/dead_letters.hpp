// dead_letters: where a job puts the records that it cannot process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>
#include <coflux/sync/mutex.hpp>

namespace coflux::stream {

/// A record that a job could not process: as it was read, where it stood, and why.
struct dead_letter {
    std::string job;
    /// Where in the flow: "region 1", counted from the source; "sink" where the sink has refused an output.
    std::string stage;
    std::string error;
    std::uint32_t attempts = 0;
    std::string partition;
    std::int64_t next = 0;
    event_time time = no_time;
    /// Empty where the source has no bytes, or the record is made by a stage.
    stream::original original{};
};

namespace detail {

/// The policy: a sink of dead letters, which all workers of a job share.
template <typename Sink>
class dead_letters_to {
public:
    explicit dead_letters_to(Sink& to) : shared_(std::make_shared<shared>(to)) {}

    [[nodiscard]] call<void> put(environment&, dead_letter letter) {
        auto& here = co_await context();
        auto guard = co_await shared_->lock.lock();
        record<dead_letter> r{std::move(letter), letter.time, letter.next, 0, 0, {}};
        co_await shared_->to.write(here, std::span(&r, 1));
    }
    [[nodiscard]] call<void> flush(environment&) {
        auto& here = co_await context();
        auto guard = co_await shared_->lock.lock();
        co_await shared_->to.flush(here);
    }

private:
    struct shared {
        explicit shared(Sink& s) : to(s) {}
        Sink& to;
        mutex lock{};
    };
    std::shared_ptr<shared> shared_;
};

}  // namespace detail

/// `.on_error = stream::dead_letters(dlq)`: a record that fails, after the retries, goes there, and the job goes on.
///
/// Shapes: a sink of dead_letter, by reference; it outlives the run.
/// Errors: those of the sink fail the job: no record is lost.
template <sink_of<dead_letter> Sink>
[[nodiscard]] detail::dead_letters_to<Sink> dead_letters(Sink& to) {
    return detail::dead_letters_to<Sink>(to);
}

}  // namespace coflux::stream
