#include "blocking_threads.hpp"

#include <system_error>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/time/clock.hpp>

#include "core/detail/wait/wait_records.hpp"
#include "os/thread/thread.hpp"

namespace coflux::detail {
namespace {

/// The pool of this thread.
constinit thread_local const blocking_threads* pool_of_this_thread = nullptr;
/// The coroutine, with the calls in it, that this thread has woken, and that runs upon it because no executor runs it.
constinit thread_local const environment* runs_here = nullptr;

const environment* caller_of(promise_base& p) noexcept {
    return wait_records::recorder(&p);
}

/// A wait that is over: its coroutine goes on, or stops.
void end_wait(blocking_job& j, blocking_state was, bool gave) noexcept {
    wait_operation& w = *j.waiter;
    // An error is not lost to a stop.
    if (was != blocking_state::stop_asked || !gave) return w.wake();
    w.withdraw();
    wait_operation::stop_claimed(w);
}

}  // namespace

blocking_threads::blocking_threads(blocking_pool_options options) : options_(std::move(options)) {}

bool blocking_threads::runs_this_thread() const noexcept {
    return pool_of_this_thread == this && process_.is_here();
}

bool blocking_threads::looks_at_once(promise_base& p) const noexcept {
    if (runs_here == nullptr || !runs_this_thread()) return false;
    // Others may be below one that began upon it. One that began has not waited: it may lie where the resumed one
    // was.
    const environment* const caller = caller_of(p);
    return runs_here == caller && wait_records::find(*caller) != nullptr && this_thread.below == nullptr &&
           !has_woken();
}

// --- jobs ------------------------------------------------------------------------------------------------------------

bool blocking_threads::submit(blocking_job& j, wait_operation& w, bool finds_it_itself) {
    COFLUX_VERIFY(process_.is_here(),
                  "a blocking pool (%s) that was made before fork() is used in the child, where its threads are not: "
                  "make one there",
                  options_.name.c_str());
    lock_held held(lock_);
    COFLUX_VERIFY(!ends_, "blocking() on a blocking pool (%s) that ends: it outlives the coroutines that call on it",
                  options_.name.c_str());
    if (w.must_stop()) return false;
    blocking_thread* by = finds_it_itself ? nullptr : pop_idle();
    if (by == nullptr && !finds_it_itself && threads_ < options_.max_threads) {
        ++threads_;
        held.unlock();
        std::exception_ptr error;
        by = start(error);
        held.lock();
        if (by == nullptr) {
            if (--threads_ == 0) {
                fail_all(held, error);
                std::rethrow_exception(error);
            }
            by = pop_idle();  // one that has come since; else one that runs finds the job
        }
        if (w.must_stop()) {
            held.unlock();
            if (by != nullptr) by->parker.unpark();  // finds nothing
            return false;
        }
    }
    j.state = blocking_state::queued;
    queue_.push_back(j);
    ++queued_;
    held.unlock();
    if (by != nullptr) by->parker.unpark();  // it waits for that
    return true;
}

/// No thread can be had, and there is none: what waits for one will not run. Without the lock when it returns.
void blocking_threads::fail_all(lock_held& held, const std::exception_ptr& error) noexcept {
    intrusive_chain<blocking_job> failed;
    while (blocking_job* const j = queue_.pop_front()) {
        j->state = blocking_state::done;
        failed.push_back(*j);
    }
    queued_ = 0;
    if (ends_) ender_.unpark();
    held.unlock();
    while (blocking_job* const j = failed.pop_front()) {
        j->kind->fail(*j, error);
        j->waiter->wake();
    }
}

blocking_threads::claimed blocking_threads::claim(blocking_job& j) noexcept {
    const lock_guard<mutex> guard(lock_);
    if (j.state == blocking_state::queued) {
        (void)queue_.remove(j);
        --queued_;
        j.state = blocking_state::resting;
        return claimed::from_queue;
    }
    if (j.state != blocking_state::running) return claimed::no;
    if (j.kind->destroy == nullptr) {
        j.state = blocking_state::stop_asked;
        return claimed::no;
    }
    j.state = blocking_state::abandoned;
    abandoned_.push_front(*j.thread);
    ++abandoned_threads_;
    if (ends_) ender_.unpark();
    return claimed::from_thread;
}

blocking_pool_counters blocking_threads::counters() const noexcept {
    if (!process_.is_here()) return {};
    const lock_guard<mutex> guard(lock_);
    return {.threads = threads_, .idle = idle_threads_, .queued = queued_};
}

// --- threads ---------------------------------------------------------------------------------------------------------

blocking_thread* blocking_threads::pop_idle() noexcept {
    blocking_thread* const t = idle_.pop_front();
    if (t != nullptr) {
        t->idle = false;
        --idle_threads_;
    }
    return t;
}

blocking_job* blocking_threads::take(blocking_thread& self) noexcept {
    blocking_job* const j = queue_.pop_front();
    if (j != nullptr) {
        j->state = blocking_state::running;
        j->thread = &self;
        --queued_;
    }
    return j;
}

void blocking_threads::rest(blocking_thread& self) noexcept {
    self.idle = true;
    idle_.push_front(self);
    ++idle_threads_;
}

blocking_thread* blocking_threads::start(std::exception_ptr& error) noexcept {
    blocking_thread* made = nullptr;
    try {
        made = new blocking_thread;
        made->self = thread([this, made] { serve(*made); });
        return made;
    } catch (const std::system_error& e) {
        error = std::make_exception_ptr(std::system_error(e.code(), "coflux: the blocking pool " + options_.name +
                                                                        " has no thread, and cannot have one"));
    } catch (...) {
        error = std::current_exception();
    }
    delete made;
    return nullptr;
}

void blocking_threads::serve(blocking_thread& self) noexcept {
    os::name_this_thread(options_.name.c_str());
    pool_of_this_thread = this;
    (void)self.parker.park_until(os::parker::never);  // until the thread that has started it is done with it
    for (bool rests = false;;) {
        if (rests && !is_woken(self)) return;
        lock_held held(lock_);
        blocking_job* j = take(self);
        if (j == nullptr) {
            if (ends_) return leave(self, held);
            rest(self);
        }
        held.unlock();
        rests = j == nullptr;
        while (j != nullptr) rests = run(j, self);
    }
}

bool blocking_threads::run(blocking_job*& j, blocking_thread& self) noexcept {
    blocking_job& ended = *std::exchange(j, nullptr);
    const bool gave = ended.kind->run(ended);
    lock_held held(lock_);
    blocking_state was = std::exchange(ended.state, blocking_state::done);
    // The function may have seen a request whose claim is still to come; that finds the job done.
    if (was == blocking_state::running && ended.waiter->must_stop()) was = blocking_state::stop_asked;
    const bool is_abandoned = was == blocking_state::abandoned;
    if (is_abandoned) {
        abandoned_.remove(self);
        --abandoned_threads_;
    }
    // It may be called upon again before the coroutine goes on; but not where code of users runs on this thread.
    const bool goes_on_elsewhere = !is_abandoned && ended.waiter->coroutine().runs_on() != nullptr;
    bool rests = false;
    if (goes_on_elsewhere && !ends_) {
        j = take(self);
        rests = j == nullptr;
        if (rests) rest(self);
    }
    held.unlock();
    if (is_abandoned) {
        ended.kind->destroy(ended);
    } else {
        if (!goes_on_elsewhere) runs_here = caller_of(ended.waiter->coroutine());
        end_wait(ended, was, gave);
        runs_here = nullptr;
    }
    return rests;
}

bool blocking_threads::is_woken(blocking_thread& self) noexcept {
    const auto timeout = options_.idle_timeout;
    const clock_tick until = timeout == std::chrono::nanoseconds::max()
                                 ? os::parker::never
                                 : tick_of(later(std::chrono::steady_clock::now(), timeout));
    if (self.parker.park_until(until)) return true;
    lock_held held(lock_);
    if (self.idle) {
        idle_.remove(self);
        --idle_threads_;
        leave(self, held);
        return false;
    }
    held.unlock();
    return self.parker.park_until(os::parker::never);  // the token is on its way, and so is a job
}

// --- the end ---------------------------------------------------------------------------------------------------------

void blocking_threads::leave(blocking_thread& self, lock_held& held) noexcept {
    --threads_;
    if (self.detached) {
        held.unlock();
        delete &self;
        return;
    }
    blocking_thread* const before = std::exchange(left_, &self);
    if (ends_) ender_.unpark();
    held.unlock();
    if (before == nullptr) return;
    before->self.join();
    delete before;
}

bool blocking_threads::end(ends_after which) noexcept {
    if (!process_.is_here() || runs_this_thread()) return false;
    lock_held held(lock_);
    ends_ = true;
    intrusive_stack<blocking_thread> woken;
    while (blocking_thread* const t = pop_idle()) woken.push(*t);
    held.unlock();
    while (blocking_thread* const t = woken.pop()) t->parker.unpark();
    held.lock();
    while (!has_ended(which)) {
        held.unlock();
        (void)ender_.park_until(os::parker::never);
        held.lock();
    }
    for (blocking_thread* t = abandoned_.front(); t != nullptr; t = t->next) {
        t->self.detach();
        t->detached = true;
    }
    blocking_thread* const last = std::exchange(left_, nullptr);
    held.unlock();
    if (last != nullptr) {
        last->self.join();
        delete last;
    }
    return true;
}

constinit atomic<blocking_threads*> blocking_threads::kept{nullptr};

void blocking_threads::keep() noexcept {
    next_kept_ = kept.exchange(this, memory_order_acq_rel);  // pairs with itself
}

}  // namespace coflux::detail
