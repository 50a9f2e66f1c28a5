// The numbers of a request for stream_scenarios, and the orders that it is about.
#pragma once

#include "harness.hpp"

#include <cstdint>
#include <vector>

namespace harness {

struct order {
    std::int64_t number;
    std::int64_t customer;
    // In seconds.
    std::int64_t time;
    std::int64_t amount;
};

struct payment {
    std::int64_t number;
    std::int64_t customer;
    // In seconds.
    std::int64_t time;
};

struct scenario_work {
    enum class scenario { filter, rows, group, tumbling, changes, join };

    static constexpr std::int64_t least_amount = 100;
    static constexpr std::int64_t window_rows = 100;
    static constexpr std::int64_t window_seconds = 3'600;
    // How long after an order its customer may pay for it.
    static constexpr std::int64_t pay_seconds = 1'800;

    // Makes the orders and the payments, so before the clock starts.
    explicit scenario_work(const request& r);

    scenario what;
    std::uint64_t batch;
    std::uint64_t partitions;
    std::vector<order> orders;
    // As many as orders, for `join` alone.
    std::vector<payment> payments;
};

// How many amounts, and their sum.
struct tally {
    std::int64_t count = 0;
    std::int64_t sum = 0;

    void add(std::int64_t amount) noexcept {
        ++count;
        sum += amount;
    }
};

// The sum of the last amounts. They are in a ring.
class last_amounts {
public:
    // Returns: the sum, with this one.
    std::int64_t add(std::int64_t amount) {
        if (amounts_.size() != scenario_work::window_rows) {
            amounts_.push_back(amount);
            return sum_ += amount;
        }
        sum_ += amount - amounts_[oldest_];
        amounts_[oldest_] = amount;
        oldest_ = oldest_ + 1 == scenario_work::window_rows ? 0 : oldest_ + 1;
        return sum_;
    }

    template <typename A>
    void fields(A& all) {
        all(amounts_, oldest_, sum_);
    }

private:
    std::vector<std::int64_t> amounts_{};
    std::uint64_t oldest_ = 0;
    std::int64_t sum_ = 0;
};

}  // namespace harness
