// The page docs/design/metrics.md has the protocol.
#include "metric_source.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/base/thread.hpp>

#include "layout.hpp"
#include "process_metrics.hpp"

namespace coflux::detail {

using inspect::metric_bucket;
using inspect::metric_family;
using inspect::metric_label;

/// Each program with an executor has this file: so a debugger finds the record also where nothing calls dump().
[[gnu::used, gnu::retain]] const debug_layout* const layout_for_debuggers = &coflux_debug_layout;

// --- a reading -------------------------------------------------------------------------------------------------------

void metric_snapshot::add(const metric_family& family, double value, std::vector<metric_label> labels) {
    if (!executor_.empty()) labels.insert(labels.begin(), {"executor", executor_});
    entries_.push_back({&family, std::move(labels), value, {}, entries_.size()});
}

void metric_snapshot::add_histogram(const metric_family& family, double sum, std::vector<metric_bucket> buckets,
                                    std::vector<metric_label> labels) {
    add(family, sum, std::move(labels));
    entries_.back().buckets = std::move(buckets);
}

void metric_snapshot::sort() {
    std::sort(entries_.begin(), entries_.end(), [](const entry& a, const entry& b) {
        return std::tie(a.family->name, a.position) < std::tie(b.family->name, b.position);
    });
}

// --- the sources -----------------------------------------------------------------------------------------------------

/// Those of a process.
class metric_registry {
public:
    /// Lifetime: never destroyed. A child of fork() has its own: another thread of the parent may have held the lock of
    /// the parent's, and what is registered there runs in the parent.
    static metric_registry& here();

    void enter(metric_source& of) {
        const lock_guard<mutex> held(lock_);
        unsigned number = 0;
        for (const metric_source* s = sources_.front(); s != nullptr; s = s->next) {
            if (s->name_ == of.name_) number = std::max(number, s->number_);
        }
        do {
            ++number;
        } while (is_shown(of.shown_name(number)));  // a user may have named one as another's number makes it
        of.number_ = number;
        sources_.push_back(of);
    }
    void leave(metric_source& of) noexcept {
        const lock_guard<mutex> held(lock_);
        (void)sources_.remove(of);
        of.number_ = 0;
    }
    void read(metric_snapshot& to) {
        const lock_guard<mutex> held(lock_);
        for (const metric_source* s = sources_.front(); s != nullptr; s = s->next) {
            to.set_executor(s->shown_name(s->number_));
            s->read_(s->of_, to);
        }
        to.set_executor({});
    }

    void read(progress_list& to) {
        const lock_guard<mutex> held(lock_);
        for (const metric_source* s = sources_.front(); s != nullptr; s = s->next) {
            if (s->progress_ == nullptr) continue;
            to.set_executor(s->shown_name(s->number_));
            s->progress_(s->of_, to);
        }
    }

private:
    explicit metric_registry(metric_registry* parents) noexcept : parents_(parents) {}

    [[nodiscard]] bool is_shown(const std::string& name) {
        for (const metric_source* s = sources_.front(); s != nullptr; s = s->next) {
            if (s->shown_name(s->number_) == name) return true;
        }
        return false;
    }

    mutex lock_;  // guards sources_; taken by registration and by readings alone
    intrusive_queue<metric_source> sources_;
    os::process_mark process_;
    [[maybe_unused]] metric_registry* const parents_;  // keeps it reachable
};

metric_registry& metric_registry::here() {
    // nullptr: there is none; else the last one that was made. Replaced in a child, by the first thread that comes.
    static constinit atomic<metric_registry*> latest{nullptr};
    metric_registry* found = latest.load(memory_order_acquire);  // pairs with the exchange
    while (found == nullptr || !found->process_.is_here()) {
        auto* const fresh = new metric_registry(found);
        // release: the registry is whole. acquire: so is that of the thread that came first.
        if (latest.compare_exchange_strong(found, fresh, memory_order_acq_rel, memory_order_acquire)) return *fresh;
        delete fresh;
    }
    return *found;
}

void metric_source::enter(std::string name, void* of, reader read, progress_reader progress) {
    COFLUX_VERIFY(number_ == 0, "a source of metrics is registered twice");
    name_ = std::move(name);
    of_ = of;
    read_ = read;
    progress_ = progress;
    metric_registry::here().enter(*this);
    if (progress != nullptr) note_awake_for_stall_watch();  // it is in the list: under the lock, as the look
}

void metric_source::leave() noexcept {
    if (number_ != 0 && process_.is_here()) metric_registry::here().leave(*this);
}

std::string metric_source::shown_name(unsigned number) const {
    return number == 1 ? name_ : name_ + '#' + std::to_string(number);
}

void metric_source::read_all(metric_snapshot& to) {
    metric_registry::here().read(to);
    add_process_metrics(to);
    process_metric_source::read_all(to);
    to.sort();
}

void metric_source::read_progress(progress_list& to) {
    metric_registry::here().read(to);
}

// --- those of a process ----------------------------------------------------------------------------------------------

namespace {

// Grows at its front alone, by release. acquire: a reader sees what it finds whole.
constinit atomic<process_metric_source*> process_sources{nullptr};

}  // namespace

void process_metric_source::enter() noexcept {
    if (entered_.load(memory_order_relaxed) || entered_.exchange(true, memory_order_relaxed)) return;
    next_ = process_sources.load(memory_order_relaxed);
    while (!process_sources.compare_exchange_weak(next_, this, memory_order_release, memory_order_relaxed)) {}
}

void process_metric_source::read_all(metric_snapshot& to) {
    for (const auto* s = process_sources.load(memory_order_acquire); s != nullptr; s = s->next_) s->read_(to);
}

}  // namespace coflux::detail
