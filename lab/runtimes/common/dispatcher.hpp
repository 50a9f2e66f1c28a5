// The programs of the document on Tokio's dispatcher: their numbers, their clocks and their record.
#pragma once

#include "harness.hpp"
#include "seed_work.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <variant>

namespace harness {

// The numbers of a request for dispatcher.
struct dispatcher_work {
    enum class program { spawn, throughput, channel, yields, partition, spins, sleeps, clone };

    explicit dispatcher_work(const request& r);

    program what;
    std::uint64_t count;
    // The records of a batch; in throughput, the tasks between two yields. None: 0.
    std::uint64_t batch;
    // After each record; in partition, after each batch.
    std::uint64_t yields;
    // The records and the work in each.
    record_work records;

    // Whether the maker yields when it has made this task, counted from 0.
    [[nodiscard]] bool yields_after(std::uint64_t task) const noexcept { return batch != 0 && (task + 1) % batch == 0; }
};

// Before each batch the coordinator sleeps as long, and a receiver that sleeps looks again after as long.
inline constexpr std::chrono::microseconds dispatcher_gap{100};
inline constexpr std::chrono::microseconds dispatcher_nap{10};

// The document's clocks around two parts of a program; the clocks of the two may run at the same time.
class parts {
public:
    void first_took(wait_clock::time_point began) noexcept { first_ = wait_clock::now() - began; }
    void second_took(wait_clock::time_point began) noexcept { second_ = wait_clock::now() - began; }
    // In ns a task.
    void tell_phases(stopwatch& watch, std::uint64_t tasks) const;
    // In ns a number, and of a batch there and back, as the document adds them.
    void tell_ends(stopwatch& watch, const dispatcher_work& work) const;

private:
    std::chrono::nanoseconds first_{};
    std::chrono::nanoseconds second_{};
};

// A thread that looks again and again gives way to the other one of its core.
inline void spin_once() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// A record as the document's program has it: fields and headers by name.
struct stored_record {
    using value = std::variant<std::int64_t, double, std::string>;

    std::unordered_map<std::string, value> fields;
    std::unordered_map<std::string, std::string> headers;
    std::int64_t timestamp = 0;
    std::int64_t offset = 0;
    std::int32_t partition = 0;
};

// Copies such a record, and adds up what the copies say of its amount.
[[nodiscard]] std::uint64_t copy_records(std::uint64_t copies);

}  // namespace harness
