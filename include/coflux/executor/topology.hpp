// topology: the processors of the machine, and what the process may use of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace coflux {

namespace detail {
struct machine_parts;
}  // namespace detail

/// How near two processors are: the nearer, the less.
enum class processor_distance {
    same_core,   ///< they are one, or run on one core (SMT)
    shared_l2,   ///< they share a cache of level 2
    shared_l3,   ///< they share a cache of level 3 or above
    same_node,   ///< the same memory is near to both
    other_node,  ///< the memory of one is farther from the other
};

/// The processors that the process may use, and how they lie in the machine. A value that does not change once it has
/// been read.
///
/// Threads: any.
/// Source: sysfs, or hwloc where Coflux is built with COFLUX_WITH_HWLOC; elsewhere than on Linux one flat node.
class topology {
public:
    /// A hardware thread.
    struct processor {
        unsigned number = 0;                ///< as the system counts them; there may be holes
        unsigned core = 0;                  ///< counted from 0, in the order of the first processor of each
        unsigned package = 0;               ///< the socket, as the system counts them
        unsigned node = 0;                  ///< the NUMA node, as the system counts them
        std::vector<std::size_t> caches{};  ///< their indices in caches(), the lowest level first
        friend bool operator==(const processor&, const processor&) = default;
    };
    /// A cache of data, or of data and instructions.
    struct cache {
        unsigned level = 0;
        std::size_t size_bytes = 0;          ///< 0: the system does not say
        std::size_t line_bytes = 0;          ///< 0: the system does not say
        std::vector<unsigned> processors{};  ///< the numbers of those that share it and may be used
        friend bool operator==(const cache&, const cache&) = default;
    };

    /// The machine as this process may use it; read at the first use, with the affinity of the thread that comes first.
    /// Errors: std::bad_alloc; what the system does not say is flat.
    [[nodiscard]] static const topology& of_this_process();
    /// The same, read now, with the affinity of the calling thread.
    /// Costs: some twenty files for each processor, 0.2 ms; by hwloc 1 ms and more.
    [[nodiscard]] static topology read();
    /// A machine as it is described below the folder `root`, in place of /sys.
    ///
    /// Shapes: `allowed` has the numbers of the processors that may be used, none: all that run; `quota` is as quota().
    /// Errors: std::bad_alloc; what is not there, or cannot be understood, is flat.
    [[nodiscard]] static topology read_from(const std::string& root, std::vector<unsigned> allowed = {},
                                            std::optional<double> quota = std::nullopt);

    /// The processors that may be used, by number; at least one.
    [[nodiscard]] const std::vector<processor>& processors() const noexcept { return processors_; }
    /// Their caches, by level and then by the first processor; none if the system does not say.
    [[nodiscard]] const std::vector<cache>& caches() const noexcept { return caches_; }
    /// Cores that have a usable processor.
    [[nodiscard]] std::size_t physical_cores() const noexcept;
    /// NUMA nodes that have a usable processor.
    [[nodiscard]] std::size_t numa_nodes() const noexcept;

    /// The share that control groups leave the process: processors in each period of time, also a part of one.
    [[nodiscard]] std::optional<double> quota() const noexcept { return quota_; }
    /// How many workers are of use: one for each processor, and no more than whole processors in quota(); at least one.
    [[nodiscard]] std::size_t worker_count() const noexcept;

    /// How near the processors of these numbers are.
    /// Costs: O(log n) and their caches.
    /// Pre: both are in processors(): a checked error.
    [[nodiscard]] processor_distance distance(unsigned a, unsigned b) const noexcept;
    /// The numbers of processors() in the order in which workers are bound to them: first one of each core, neighbours
    /// one after the other, then their SMT siblings.
    [[nodiscard]] std::vector<unsigned> binding_order() const;

    friend bool operator==(const topology&, const topology&) = default;

private:
    explicit topology(detail::machine_parts parts);

    const processor& at(unsigned number) const noexcept;

    std::vector<processor> processors_;
    std::vector<cache> caches_;
    std::optional<double> quota_;
};

}  // namespace coflux
