// The page docs/design/stall.md has the protocol.
#include <coflux/inspect/stall.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/time/clock.hpp>

#include "inspect/metric_source.hpp"
#include "inspect/stall/running_chain.hpp"
#include "inspect/stall/worker_progress.hpp"
#include "os/thread/parker.hpp"
#include "os/thread/thread.hpp"
#include "os/thread/thread_look.hpp"

namespace coflux::detail {
namespace {

/// The detector's parker, while there is a detector.
struct sleeping_watch {
    mutex lock;
    os::parker* parker = nullptr;  // guarded by lock
};
sleeping_watch& the_watch() noexcept {
    static auto* const kept = new sleeping_watch;  // workers may come while static objects go
    return *kept;
}

}  // namespace

void rouse_stall_watch() noexcept {
    const lock_guard<mutex> held(the_watch().lock);
    if (the_watch().parker != nullptr) the_watch().parker->unpark();
}

}  // namespace coflux::detail

namespace coflux::inspect {

using detail::clock_tick;
using detail::worker_progress;

std::string stall::text() const {
    char head[96];
    std::snprintf(head, sizeof head, " %s for %.1f ms without a suspension\n",
                  blocked_in.empty() ? "has computed" : ("is blocked in " + blocked_in).c_str(),
                  static_cast<double>(lasts.count()) / 1e6);
    std::string all = "coflux: worker " + executor + '-' + std::to_string(worker) + head;
    for (const std::string& c : coroutines) all += "  in " + c + '\n';
    if (coroutines.empty()) all += "  in a coroutine that has not asked for its context\n";
    if (!back_trace.empty()) all += "  the stack of its thread:\n";
    for (const std::string& c : back_trace) all += "    " + c + '\n';
    return all;
}

class stall_detector::watch {
public:
    explicit watch(stall_options options)
        : options_(std::move(options)),
          threshold_(static_cast<clock_tick>(
              std::max(options_.threshold, std::chrono::nanoseconds(std::chrono::milliseconds(1))).count())),
          period_(std::min(longest_period, threshold_ / 4)) {
        {
            const detail::lock_guard<detail::mutex> held(detail::the_watch().lock);
            COFLUX_VERIFY(detail::the_watch().parker == nullptr, "a process has one inspect::stall_detector at a time");
            detail::the_watch().parker = &parker_;
        }
        thread_ = detail::thread([this] { serve(); });
    }
    ~watch() {
        ends_.store(true, detail::memory_order_release);  // pairs with serve()
        parker_.unpark();
        thread_.join();
        const detail::lock_guard<detail::mutex> held(detail::the_watch().lock);
        detail::the_watch().parker = nullptr;
    }

private:
    static constexpr clock_tick longest_period = 3'000'000;  // nanoseconds; between two looks

    /// A worker, since its marks were first as they are.
    struct candidate {
        worker_progress seen;
        bool has_begin = false;
        detail::os::thread_times begin{};
        clock_tick next_look = 0;  // at its times
        bool reported = false;
    };

    void serve() noexcept {
        detail::os::name_this_thread("coflux-stalls");
        while (!ends_.load(detail::memory_order_acquire)) {  // pairs with ~watch()
            const bool one_is_awake = look();
            if (one_is_awake) {
                parker_.park_until(std::min(detail::tick_now() + period_, next_look()));
                continue;
            }
            detail::stall_watch_sleeps.store(true, detail::memory_order_seq_cst);
            if (!look()) parker_.park_until(detail::os::parker::never);
            detail::stall_watch_sleeps.store(false, detail::memory_order_seq_cst);
        }
    }

    /// True if a worker is awake. Without memory there is no look this time.
    bool look() noexcept try {
        detail::progress_list now;
        detail::metric_source::read_progress(now);
        std::vector<candidate> next;
        next.reserve(now.workers().size());
        for (const worker_progress& w : now.workers()) {
            if (w.is_busy && w.thread != 0) next.push_back(judge(w));
        }
        candidates_ = std::move(next);
        return now.is_one_awake();
    } catch (const std::exception&) {
        return true;
    }

    /// When the first of them could have been stalled for the threshold.
    [[nodiscard]] clock_tick next_look() const noexcept {
        clock_tick first = detail::os::parker::never;
        for (const candidate& c : candidates_) {
            if (c.has_begin && !c.reported) first = std::min(first, c.next_look);
        }
        return first;
    }

    candidate judge(const worker_progress& w) {
        const auto known = std::find_if(candidates_.begin(), candidates_.end(),
                                        [&w](const candidate& c) { return c.seen.thread == w.thread; });
        if (known == candidates_.end() || known->seen.marks != w.marks) return {w};
        candidate c = std::move(*known);
        const clock_tick now = detail::tick_now();
        if (c.reported || (c.has_begin && now < c.next_look)) return c;
        detail::os::thread_times times{};
        if (!detail::os::look_at_thread(w.thread, times)) return c;
        if (!std::exchange(c.has_begin, true)) c.begin = times;
        const clock_tick stalled = detail::os::stalled_between(c.begin, times);
        if (stalled < threshold_) {
            c.next_look = now + (threshold_ - stalled);
        } else {
            c.reported = true;
            report(c, times, stalled);
        }
        return c;
    }

    void report(const candidate& of, const detail::os::thread_times& times, clock_tick stalled) {
        stall s;
        s.executor = of.seen.executor;
        s.worker = of.seen.position;
        s.lasts = std::chrono::nanoseconds(static_cast<std::int64_t>(stalled));
        if (!times.is_ready) s.blocked_in = detail::os::system_call_of(of.seen.thread);
        s.coroutines = detail::running_chain(of.seen.state);
        if (s.blocked_in.empty() || options_.interrupts_blocked)
            s.back_trace = detail::os::back_trace_of(of.seen.thread);
        if (!is_still_there(of.seen)) return;
        if (options_.report) return options_.report(s);
        const std::string text = s.text();
        std::fwrite(text.data(), 1, text.size(), stderr);
    }

    static bool is_still_there(const worker_progress& seen) {
        detail::progress_list now;
        detail::metric_source::read_progress(now);
        return std::any_of(now.workers().begin(), now.workers().end(), [&seen](const worker_progress& w) {
            return w.thread == seen.thread && w.is_busy && w.marks == seen.marks;
        });
    }

    const stall_options options_;
    const clock_tick threshold_;
    const clock_tick period_;
    detail::os::parker parker_;
    detail::atomic<bool> ends_{false};  // true: the thread ends; set once, before a wake
    std::vector<candidate> candidates_;
    detail::thread thread_;
};

stall_detector::stall_detector(stall_options options) : watch_(std::make_unique<watch>(std::move(options))) {}
stall_detector::~stall_detector() = default;

}  // namespace coflux::inspect
