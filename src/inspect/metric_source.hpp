// Where the objects are that count something. The page docs/design/metrics.md has the protocol.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/inspect/metrics.hpp>

#include "inspect/stall/worker_progress.hpp"
#include "os/process/process.hpp"

namespace coflux::detail {

/// The metrics of one moment.
class metric_snapshot {
public:
    struct entry {
        const inspect::metric_family* family;
        std::vector<inspect::metric_label> labels;
        double value;
        std::vector<inspect::metric_bucket> buckets;
        std::size_t position;  // as it was read
    };

    /// The name of what is read next, which each of its metrics has as the label `executor`; empty: no such label.
    void set_executor(std::string name) { executor_ = std::move(name); }
    [[nodiscard]] const std::string& executor() const noexcept { return executor_; }

    /// Errors: std::bad_alloc.
    void add(const inspect::metric_family& family, double value, std::vector<inspect::metric_label> labels = {});
    void add(const inspect::metric_family& family, std::uint64_t value,
             std::vector<inspect::metric_label> labels = {}) {
        add(family, static_cast<double>(value), std::move(labels));
    }
    void add_histogram(const inspect::metric_family& family, double sum, std::vector<inspect::metric_bucket> buckets,
                       std::vector<inspect::metric_label> labels);

    /// By families; the metrics of one as they were read.
    void sort();
    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

private:
    std::string executor_;
    std::vector<entry> entries_;
};

/// An object that counts something, as long as it is registered.
///
/// Threads: any, one at a time.
/// Lifetime: in a child of fork() none is registered that the parent has made.
class metric_source {
public:
    metric_source() = default;
    metric_source(const metric_source&) = delete;
    metric_source& operator=(const metric_source&) = delete;
    ~metric_source() { leave(); }

    /// From now on `of.add_metrics(metric_snapshot&)` is called in each reading, on any thread, and
    /// `of.add_progress(progress_list&)`, where it has that, in each look at the workers. They resume and wake nothing.
    /// Where another source has `name` already, this one has a number behind it.
    /// Errors: std::system_error, std::bad_alloc.
    /// Pre: it is not registered.
    template <typename T>
    void enter(std::string name, T& of) {
        progress_reader progress = nullptr;
        if constexpr (requires(progress_list& to) { of.add_progress(to); })
            progress = [](void* what, progress_list& to) { static_cast<T*>(what)->add_progress(to); };
        enter(
            std::move(name), &of, [](void* what, metric_snapshot& to) { static_cast<T*>(what)->add_metrics(to); },
            progress);
    }
    /// From now on it is not called any more. Waits for the end of a reading.
    void leave() noexcept;

    /// Reads all.
    static void read_all(metric_snapshot& to);
    /// The workers of all. Errors: std::bad_alloc.
    static void read_progress(progress_list& to);

private:
    friend class metric_registry;
    friend struct own_links;
    using reader = void (*)(void* of, metric_snapshot& to);

    using progress_reader = void (*)(void* of, progress_list& to);

    void enter(std::string name, void* of, reader read, progress_reader progress);
    [[nodiscard]] std::string shown_name(unsigned number) const;

    std::string name_;
    unsigned number_ = 0;  // of those of its name; 0: not registered
    os::process_mark process_;
    void* of_ = nullptr;
    reader read_ = nullptr;
    progress_reader progress_ = nullptr;  // nullptr: it has no workers to look at
    metric_source* next = nullptr;
    metric_source* previous = nullptr;
};

/// Something that a process has one of, and that counts something. Static.
///
/// Threads: any.
class process_metric_source {
public:
    constexpr explicit process_metric_source(void (*read)(metric_snapshot& to)) noexcept : read_(read) {}
    process_metric_source(const process_metric_source&) = delete;
    process_metric_source& operator=(const process_metric_source&) = delete;

    /// From now on it is asked in each reading; again: nothing happens.
    void enter() noexcept;

private:
    friend class metric_source;

    static void read_all(metric_snapshot& to);

    void (*const read_)(metric_snapshot& to);
    atomic<bool> entered_{false};  // true: it is in the list, or about to be
    process_metric_source* next_ = nullptr;
};

}  // namespace coflux::detail
