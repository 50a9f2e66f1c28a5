// Which processors the workers of a pinned pool are bound to.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <coflux/executor/topology.hpp>

#include "victim_order.hpp"

namespace coflux::detail {

class worker_places {
public:
    /// The places of workers that are not bound.
    worker_places() = default;
    /// Worker i on the i-th of binding_order(), modulo their number.
    worker_places(topology machine, std::size_t workers);

    /// The places of `workers` workers that the calling thread makes.
    [[nodiscard]] static worker_places here(std::size_t workers);

    [[nodiscard]] std::optional<unsigned> processor_of(std::size_t worker) const noexcept {
        return processors_.empty() ? std::nullopt : std::optional<unsigned>(processors_[worker]);
    }
    /// The nearest first, if workers are bound.
    [[nodiscard]] victim_order victims_of(std::size_t worker) const;

private:
    std::vector<unsigned> processors_;  // of each worker; none: they are not bound
    std::optional<topology> machine_;
};

}  // namespace coflux::detail
