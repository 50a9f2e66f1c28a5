// failures: what happens to a record that a stage or the sink has refused.
#pragma once

#include <cstdint>
#include <exception>
#include <random>
#include <string>
#include <type_traits>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/dead_letters.hpp>
#include <coflux/stream/detail/any_source.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/job.hpp>

namespace coflux::stream::detail {

/// Where the records go that are given up.
class any_letters {
public:
    any_letters() = default;
    any_letters(const any_letters&) = delete;
    any_letters& operator=(const any_letters&) = delete;
    virtual ~any_letters() = default;

    [[nodiscard]] virtual call<void> put(environment& here, dead_letter letter) = 0;
    [[nodiscard]] virtual call<void> flush(environment& here) = 0;
};

template <typename OnError>
class any_letters_of final : public any_letters {
public:
    explicit any_letters_of(OnError& of) noexcept : of_(of) {}
    call<void> put(environment& here, dead_letter letter) override { return of_.put(here, std::move(letter)); }
    call<void> flush(environment& here) override { return of_.flush(here); }

private:
    OnError& of_;
};

/// Records that are given up go somewhere, with what was read.
template <typename OnError>
inline constexpr bool has_dead_letters = !std::is_same_v<OnError, fail_job> && !std::is_same_v<OnError, skip_record>;

/// All workers of a job decide about a failure by it.
struct failure_policy {
    retry retries;
    std::string job;
    bool skips;            // a record that is given up is counted alone
    any_letters* letters;  // where it goes; nullptr: nowhere
    any_source& source;
    observed& seen;

    [[nodiscard]] bool fails_job() const noexcept { return !skips && letters == nullptr; }
};

[[nodiscard]] std::string text_of(const std::exception_ptr& error);

/// Decides for one worker.
class failures {
public:
    /// `counts`: where what it decides is counted.
    failures(failure_policy& policy, std::string stage, std::uint32_t seed, actor_counts& counts)
        : policy_(policy),
          counts_(counts),
          stage_(std::move(stage)),
          random_(seed + 1) {}

    /// A record of `partition` has failed: waits before another attempt. Returns: false where there is none left.
    [[nodiscard]] call<bool> try_again(environment&, std::uint32_t partition);
    /// A record has passed.
    void reset() noexcept { attempts_ = 0; }

    /// Gives a record up. Returns once it is skipped, or with the dead letters.
    /// Errors: `error`, where the job shall fail.
    [[nodiscard]] call<void> give_up(environment&, record_head r, std::exception_ptr error);

private:
    failure_policy& policy_;
    actor_counts& counts_;
    std::string stage_;
    std::minstd_rand random_;
    std::uint32_t attempts_ = 0;
};

}  // namespace coflux::stream::detail
