// The page docs/design/thread_pool.md has the protocol; this file has the life of a pool, pool_worker.cpp that of its
// workers.
#include <coflux/executor/thread_pool.hpp>

#include <system_error>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

#include "core/detail/scope/left_behind.hpp"
#include "executor/detail/strand_state.hpp"
#include "executor/detail/worker_metrics.hpp"
#include "executor/pool/pool_worker.hpp"
#include "executor/pool/traced_worker.hpp"
#include "executor/pool/worker_places.hpp"
#include "os/thread/heavy_fence.hpp"
#include "os/thread/thread.hpp"

namespace coflux::detail {

void thread_pool::execute(std::coroutine_handle<> h) noexcept {
    if (worker* const w = worker::of_thread_for(identity()); w != nullptr) return w->push_ready(h);
    inject(injected_, h);
}

void pool_priority::execute(std::coroutine_handle<> h) noexcept {
    if (worker* const w = worker::of_thread_for(pool_.identity()); w != nullptr)
        return static_cast<pool_worker*>(w)->push_shared(queue, h);
    pool_.inject(queue, h);
}

void thread_pool::inject(injection_queue& to, std::coroutine_handle<> h) noexcept {
    COFLUX_VERIFY(
        process_.is_here(),
        "a thread pool that was made before fork() is used in the child, where its threads are not: make one there");
    if (to.push(h, [this]() noexcept { return idle_.must_wake(); })) {
        idle_.wake_one();
        idle_.leave();
    }
}

/// Keeps what threads of a parent process stood on, in its child.
struct left_by_fork {
    std::vector<std::unique_ptr<pool_worker>> workers;
    std::vector<thread> threads;
    left_by_fork* next = nullptr;
};
static constinit atomic<left_by_fork*> left_by_forks{nullptr};

// --- life ------------------------------------------------------------------------------------------------------------

namespace {

void pass_no_thief() noexcept {}

/// The fence that thieves of a pool of `workers` call; nullptr: nothing, and pops have a locked instruction.
heavy_fence fence_for(pop_order pops, std::size_t workers) {
    if (pops == pop_order::by_owner) return nullptr;
    if (workers == 1) return &pass_no_thief;  // there is no thief
    const heavy_fence found = os::find_heavy_fence();
    if (found == nullptr && pops == pop_order::by_thief) {
        throw std::system_error(std::make_error_code(std::errc::operation_not_supported),
                                "coflux: thread_pool_options::pops is by_thief, and the system refuses membarrier()");
    }
    return found;
}

}  // namespace

thread_pool::thread_pool(thread_pool_options options)
    : options_(std::move(options)),
      processors_(os::usable_processors()),
      idle_(options_.threads != 0 ? options_.threads : processors_),
      heavy_fence_(fence_for(options_.pops, idle_.size())) {
    const std::size_t n = idle_.size();
    workers_.reserve(n);
    threads_.reserve(n);
    const worker_places places = options_.pin ? worker_places::here(n) : worker_places();
    for (std::size_t i = 0; i < n; ++i) {
        if (options_.trace == trace_level::all) {
            workers_.push_back(std::make_unique<traced_worker>(*this, i, places));
        } else {
            workers_.push_back(std::make_unique<pool_worker>(*this, i, places));
        }
    }
    try {
        for (std::size_t i = 0; i < n; ++i) threads_.emplace_back([w = workers_[i].get()] { w->serve(); });
        metrics_.enter(options_.name, *this);
    } catch (...) {
        idle_.end();
        for (std::size_t i = 0; i < threads_.size(); ++i) workers_[i]->unpark();
        for (thread& t : threads_) t.join();
        throw;
    }
}

thread_pool::~thread_pool() {
    metrics_.leave();
    if (!process_.is_here()) {  // nor are the threads: what they would have left stays as it is
        auto* const left = new left_by_fork{std::move(workers_), std::move(threads_)};
        left->next = left_by_forks.exchange(left, memory_order_acq_rel);  // pairs with itself
        return;
    }
    COFLUX_VERIFY(worker::of_thread_for(identity()) == nullptr, "a thread pool is destroyed on one of its own threads");
    idle_.end();
    for (const auto& w : workers_) w->unpark();
    for (thread& t : threads_) t.join();
    for (const auto& w : workers_) w->leave_watch();
    door_.close();
    high_.close();
    low_.close();
    idle_.wait_for_leavers();
    check_none_left_behind();
}

#define COFLUX_RULE_OF_POOLS                                                                                   \
    "a thread pool outlives what runs in the environments that name it: join it, or stop and join it, before " \
    "the pool ends"

void thread_pool::check_none_left_behind() noexcept {
    left_behind asleep;
    if (events_.source() != nullptr) events_.source()->add_left(asleep);
    for (const auto& w : workers_)
        w->take_left([&asleep](const timer& t) { asleep.add(t.kind().whose(t), t.kind().what); });
    COFLUX_VERIFY(asleep.count() == 0, "a thread pool ends with %zu coroutine%s on it (listed above), first %s: %s",
                  asleep.count(), asleep.count() == 1 ? "" : "s", asleep.first(), COFLUX_RULE_OF_POOLS);
    COFLUX_VERIFY(!has_shared(), "a thread pool ends with a coroutine on it that another thread has just queued: %s",
                  COFLUX_RULE_OF_POOLS);
}

namespace {

template <typename Behind>
void post_behind(void* identity, std::coroutine_handle<> h) noexcept {
    Behind* const behind = executor_door<Behind>::behind(identity);
    COFLUX_VERIFY(behind != nullptr, "%s would go on upon a thread pool that is gone: %s",
                  strand_state::text_of(h).c_str(), COFLUX_RULE_OF_POOLS);
    behind->execute(h);
}

}  // namespace

std::uint64_t thread_pool::lone_pushes() const noexcept {
    std::uint64_t all = 0;
    for (const auto& w : workers_) all += w->lone_pushes_.load(memory_order_relaxed);  // pairs with nothing: a hint
    return all;
}

void thread_pool::add_metrics(metric_snapshot& to) const {
    to.add(worker_metrics::workers, std::uint64_t{workers_.size()});
    const auto add_queue = [&to](const char* name, const injection_queue& queue) {
        to.add(worker_metrics::shared_queue_length, std::uint64_t{queue.size()}, {{"queue", name}});
    };
    add_queue("outside", injected_);
    add_queue("high", high_.queue);
    add_queue("low", low_.queue);
    for (const auto& w : workers_) w->add_metrics(to);
}

void thread_pool::add_progress(progress_list& to) const {
    for (const auto& w : workers_) to.add(w->progress());
    if (!idle_.all_parked()) to.note_awake();
}

std::vector<worker_counters> thread_pool::counters() const {
    std::vector<worker_counters> all;
    all.reserve(workers_.size());
    for (const auto& w : workers_) all.push_back(w->counters());
    return all;
}

}  // namespace coflux::detail

namespace coflux {

thread_pool_executor::thread_pool_executor(std::size_t threads)
    : thread_pool_executor(thread_pool_options{.threads = threads}) {}
thread_pool_executor::thread_pool_executor(thread_pool_options options)
    : pool_(new detail::thread_pool(std::move(options))) {}
thread_pool_executor::thread_pool_executor(thread_pool_executor&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)) {}
thread_pool_executor& thread_pool_executor::operator=(thread_pool_executor&& other) noexcept {
    if (this != &other) delete std::exchange(pool_, std::exchange(other.pool_, nullptr));
    return *this;
}
thread_pool_executor::~thread_pool_executor() {
    delete pool_;
}

void thread_pool_executor::execute(std::coroutine_handle<> h) noexcept {
    pool_->execute(h);
}
void thread_pool_executor::execute_on(void* identity, std::coroutine_handle<> h) noexcept {
    detail::post_behind<detail::thread_pool>(identity, h);
}
void detail::execute_by_priority(void* identity, std::coroutine_handle<> h) noexcept {
    post_behind<pool_priority>(identity, h);
}
void* thread_pool_executor::identity_at(priority p) const noexcept {
    return pool_->at(p).identity();
}
void* thread_pool_executor::identity() const noexcept {
    return pool_->identity();
}
std::size_t thread_pool_executor::size() const noexcept {
    return pool_->size();
}
std::vector<worker_counters> thread_pool_executor::counters() const {
    return pool_->counters();
}

}  // namespace coflux
