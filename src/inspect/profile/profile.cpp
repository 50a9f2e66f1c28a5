// The page docs/design/profile.md has the protocol.
#include <coflux/inspect/profile.hpp>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/time/clock.hpp>

#include "inspect/profile/processor_samples.hpp"
#include "inspect/profile/wait_looks.hpp"
#include "os/process/own_memory.hpp"
#include "os/thread/parker.hpp"
#include "os/thread/thread.hpp"

namespace coflux::inspect {

using detail::clock_tick;

class profiler::recording {
public:
    explicit recording(const profile_options& options)
        : samples_(second / std::clamp(options.frequency, 1U, 1000U)),
          thread_([this] { serve(); }) {}
    ~recording() { end(); }

    profile_result stop() {
        COFLUX_VERIFY(thread_.joinable(), "inspect::profiler::stop() is called once");
        end();
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        return std::move(result_);
    }

private:
    static constexpr clock_tick second = 1'000'000'000;
    static constexpr clock_tick between_takes = second / 20;
    static constexpr clock_tick between_looks = second / 10;
    static constexpr clock_tick rest_of_look = 200;  // times what it took

    void end() {
        if (!thread_.joinable()) return;
        ends_.store(true, detail::memory_order_release);  // pairs with serve()
        parker_.unpark();
        thread_.join();
    }

    void serve() noexcept try {
        detail::os::name_this_thread("coflux-profile");
        const clock_tick begin = looked_ = detail::tick_now();
        for (clock_tick next_look = begin + between_looks;;) {
            parker_.park_until(detail::tick_now() + between_takes);
            if (ends_.load(detail::memory_order_acquire)) break;  // pairs with end()
            samples_.find_threads();
            samples_.take_all(names_, processor_);
            if (detail::tick_now() < next_look) continue;
            look();
            const clock_tick now = detail::tick_now();
            next_look = now + std::max(between_looks, (now - looked_) * rest_of_look);
        }
        samples_.take_all(names_, processor_);
        look();
        result_.processor = processor_.all(names_);
        result_.waits = waits_.all(names_);
        result_.lasted = std::chrono::nanoseconds(static_cast<std::int64_t>(looked_ - begin));
        result_.lost = samples_.lost();
        result_.left_out = samples_.left_out();
    } catch (const std::exception&) {
        failure_ = std::current_exception();
    }

    /// Each coroutine that waits is taken to have waited since the look before.
    void look() {
        const clock_tick now = detail::tick_now();
        if (!looks_.look(now - looked_, names_, waits_)) return;
        looked_ = now;
        ++result_.looks;
    }

    detail::frame_names names_;
    detail::stack_times processor_;
    detail::stack_times waits_;
    detail::wait_looks looks_;
    clock_tick looked_ = 0;
    profile_result result_;
    std::exception_ptr failure_;
    detail::processor_samples samples_;
    detail::os::parker parker_;
    detail::atomic<bool> ends_{false};  // true: the thread ends; set once, before a wake
    detail::thread thread_;
};

profiler::profiler(const profile_options& options) {
    if (!detail::os::can_read_own_memory()) {
        throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                                "coflux: a profile: the process cannot read its own memory");
    }
    recording_ = std::make_unique<recording>(options);
}
profiler::~profiler() = default;

profile_result profiler::stop() {
    return recording_->stop();
}

profile_result profile(std::chrono::nanoseconds during, const profile_options& options) {
    profiler p(options);
    std::this_thread::sleep_for(during);
    return p.stop();
}

std::string folded(const std::vector<profile_stack>& stacks) {
    std::string text;
    for (const profile_stack& s : stacks) {
        for (const std::string& frame : s.frames) {
            const std::size_t begin = text.size();
            text += frame + ';';
            std::replace(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end() - 1, ';', ',');
        }
        if (!s.frames.empty()) text.back() = ' ';
        text += std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(s.time).count()) + '\n';
    }
    return text;
}

}  // namespace coflux::inspect
