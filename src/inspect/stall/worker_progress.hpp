// The workers as the stall detector sees them. The page docs/design/stall.md has the protocol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

struct worker_progress {
    using marks_type = std::array<std::uint64_t, 3>;

    std::string executor;
    std::size_t position = 0;
    std::uint64_t thread = 0;  ///< its number in the system; 0: it has not begun
    const thread_state* state = nullptr;
    bool is_busy = false;  ///< it has a coroutine
    marks_type marks{};    ///< some change where it goes on
};

/// All at one moment.
class progress_list {
public:
    void set_executor(std::string name) { executor_ = std::move(name); }
    /// Errors: std::bad_alloc.
    void add(worker_progress of) {
        of.executor = executor_;
        workers_.push_back(std::move(of));
    }
    /// A worker is not parked.
    void note_awake() noexcept { is_one_awake_ = true; }

    [[nodiscard]] const std::vector<worker_progress>& workers() const noexcept { return workers_; }
    [[nodiscard]] bool is_one_awake() const noexcept { return is_one_awake_; }

private:
    std::string executor_;
    std::vector<worker_progress> workers_;
    bool is_one_awake_ = false;
};

/// True while the detector sleeps because all workers are parked. seq_cst on both sides: see the page.
inline constinit atomic<bool> stall_watch_sleeps{false};
COFLUX_COLD void rouse_stall_watch() noexcept;

/// A worker is awake, which it has said by a seq_cst operation.
inline void note_awake_for_stall_watch() noexcept {
    // [stall.note_awake]
    if (stall_watch_sleeps.load(memory_order_seq_cst)) [[unlikely]]
        rouse_stall_watch();
}

}  // namespace coflux::detail
