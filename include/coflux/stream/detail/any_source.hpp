// any_source: the source of a job, as the engine calls it, which knows no type of value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/source.hpp>

namespace coflux::stream::detail {

/// The concepts that a source satisfies.
struct source_abilities {
    bool seeks;
    bool commits;
    bool rewinds;
    bool works;
    bool has_partitions;
    bool tells_ends;
    bool is_rebalanced;
    bool is_measured;
};

/// Its functions are called once a batch, or less often.
///
/// Pre: of each but read() and partition_name(): the source can do it.
class any_source {
public:
    explicit any_source(const source_abilities& abilities) noexcept : can(abilities) {}
    any_source(const any_source&) = delete;
    any_source& operator=(const any_source&) = delete;
    virtual ~any_source() = default;

    /// Clears `into`, and reads.
    [[nodiscard]] virtual call<bool> read(environment& here, parcel& into, std::size_t most) = 0;
    [[nodiscard]] virtual std::string partition_name(std::uint32_t p) = 0;
    [[nodiscard]] virtual call<void> seek(environment& here, const positions& to) = 0;
    [[nodiscard]] virtual call<void> commit(environment& here, const positions& done) = 0;
    [[nodiscard]] virtual call<void> rewind(environment& here, const positions& to) = 0;
    [[nodiscard]] virtual call<void> work(environment& here, bool keeps_originals) = 0;
    [[nodiscard]] virtual std::vector<std::uint32_t> partitions() = 0;
    [[nodiscard]] virtual std::span<const std::uint32_t> ended() = 0;
    [[nodiscard]] virtual std::optional<partition_change> take_change() = 0;
    [[nodiscard]] virtual call<void> release(environment& here, std::uint32_t p) = 0;
    [[nodiscard]] virtual std::vector<partition_extent> measure() = 0;
    [[nodiscard]] virtual bool is_bounded() = 0;

    const source_abilities can;
};

template <typename S>
class any_source_of final : public any_source {
public:
    explicit any_source_of(S& of) noexcept
        : any_source({seekable_source<S>, committing_source<S>, rewinding_source<S>, working_source<S>,
                      partitioned_source<S>, ending_source<S>, rebalanced_source<S>, measured_source<S>}),
          of_(of) {}

    call<bool> read(environment& here, parcel& into, std::size_t most) override {
        auto& records = records_of<typename S::value_type>(into);
        records.clear();
        return of_.read(here, records, most);
    }
    std::string partition_name(std::uint32_t p) override { return of_.partition_name(p); }
    call<void> seek([[maybe_unused]] environment& here, [[maybe_unused]] const positions& to) override {
        if constexpr (seekable_source<S>) return of_.seek(here, to);
        never_called();
    }
    call<void> commit([[maybe_unused]] environment& here, [[maybe_unused]] const positions& done) override {
        if constexpr (committing_source<S>) return of_.commit(here, done);
        never_called();
    }
    call<void> rewind([[maybe_unused]] environment& here, [[maybe_unused]] const positions& to) override {
        if constexpr (rewinding_source<S>) return of_.rewind(here, to);
        never_called();
    }
    call<void> work([[maybe_unused]] environment& here, [[maybe_unused]] bool keeps_originals) override {
        if constexpr (working_source<S>) return of_.work(here, keeps_originals);
        never_called();
    }
    std::vector<std::uint32_t> partitions() override {
        if constexpr (partitioned_source<S>) return of_.partitions();
        never_called();
    }
    std::span<const std::uint32_t> ended() override {
        if constexpr (ending_source<S>) return of_.ended();
        never_called();
    }
    std::optional<partition_change> take_change() override {
        if constexpr (rebalanced_source<S>) return of_.take_change();
        never_called();
    }
    call<void> release([[maybe_unused]] environment& here, [[maybe_unused]] std::uint32_t p) override {
        if constexpr (rebalanced_source<S>) return of_.release(here, p);
        never_called();
    }
    std::vector<partition_extent> measure() override {
        if constexpr (measured_source<S>) return of_.measure();
        never_called();
    }
    bool is_bounded() override {
        if constexpr (measured_source<S>) return of_.is_bounded();
        never_called();
    }

private:
    S& of_;
};

}  // namespace coflux::stream::detail
