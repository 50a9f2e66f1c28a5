#include <coflux/kafka/share_partitions.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include <coflux/core/as_outcome.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/kafka/error.hpp>
#include <coflux/scope/shielded.hpp>
#include <coflux/scope/with_scope.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux::detail {
namespace {

struct shared_partition {
    explicit shared_partition(kafka::position p) : of(std::move(p)) {}

    kafka::position of;
    stream::job_control control;
    manual_reset_event lost;
    manual_reset_event ended;
};
using partition_share = std::shared_ptr<shared_partition>;

/// Another process may have the partition already: the group tells a member that was paused only later.
bool is_fenced(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const kafka::error& e) {
        return e.is_fatal() && e.code() == kafka::errc::fenced;
    } catch (...) {
        return false;
    }
}

/// Tells the end of a job, whatever it is.
class told_end {
public:
    explicit told_end(manual_reset_event& ended) noexcept : ended_(ended) {}
    told_end(const told_end&) = delete;
    told_end& operator=(const told_end&) = delete;
    ~told_end() { ended_.set(); }

private:
    manual_reset_event& ended_;
};

class partition_sharer {
public:
    partition_sharer(const kafka::consumer_options& member, kafka::partition_job job)
        : in_(member),
          hears_within_(member.session_timeout),
          job_(std::move(job)) {}

    call<void> run(environment&, std::vector<std::string> topics, stream::job_control& control) {
        auto&& here = co_await context();
        auto end = co_await as_outcome(with_scope(here, [&](task_scope& jobs) -> call<void> {
            auto&& inside = co_await context();
            co_await in_.subscribe(inside, std::move(topics));
            co_await with_scope(inside, [&](task_scope& polling) -> call<void> {
                polling.spawn(drainer, borrowed(control), borrowed(polling));
                polling.spawn(poller, borrowed(*this), borrowed(jobs));
                co_return;
            });
            for (const partition_share& p : running_) p->control.drain();
        }));
        co_await shielded(in_.close(here));  // until then no other process gets them
        if (end.is_stopped()) co_await this_coroutine::stop();
        std::move(end).value();
    }

private:
    static fork<void> drainer(environment&, borrowed<stream::job_control> control, borrowed<task_scope> polling) {
        co_await control->drain_requested();
        polling->request_stop();
    }
    static fork<void> poller(environment&, borrowed<partition_sharer> self, borrowed<task_scope> jobs) {
        auto&& here = co_await context();
        co_await self->poll(here, *jobs);
    }
    static fork<void> runner(environment&, borrowed<partition_sharer> self, partition_share p) {
        const told_end told(p->ended);
        auto&& here = co_await context();
        co_await with_scope(here, [&](task_scope& running) -> call<void> {
            running.spawn(stopper, p, borrowed(running));
            running.spawn(job_runner, self, p, borrowed(running));
            co_return;
        });
    }
    static fork<void> stopper(environment&, partition_share p, borrowed<task_scope> running) {
        co_await p->lost.wait();
        running->request_stop();
    }
    static fork<void> job_runner(environment&, borrowed<partition_sharer> self, partition_share p,
                                 borrowed<task_scope> running) {
        auto&& here = co_await context();
        std::exception_ptr failed;
        try {
            co_await self->job_(here, p->of, p->control);
        } catch (...) {
            failed = std::current_exception();
        }
        if (failed != nullptr && is_fenced(failed)) (void)co_await timeout(p->lost.wait(), self->hears_within_);
        if (failed != nullptr && !p->lost.is_set()) std::rethrow_exception(failed);
        running->request_stop();
    }

    call<void> poll(environment&, task_scope& jobs) {
        auto&& here = co_await context();
        std::vector<kafka::message> unread;
        for (;;) {
            kafka::polled got = co_await in_.poll(here, unread, 1);
            unread.clear();
            switch (got.what) {
            case kafka::polled::kind::assigned: co_await begin(here, jobs, got); break;
            case kafka::polled::kind::revoked:
            case kafka::polled::kind::lost: co_await end(here, got); break;
            case kafka::polled::kind::messages:
            case kafka::polled::kind::end: break;
            }
        }
    }
    // The member reads nothing itself: sources of the jobs do.
    call<void> begin(environment&, task_scope& jobs, kafka::polled& change) {
        auto&& here = co_await context();
        for (kafka::position& p : change.partitions) p.offset = static_cast<std::int64_t>(kafka::place::end);
        co_await in_.acknowledge(here, change);
        co_await in_.pause(here, change.partitions);
        for (const kafka::position& p : change.partitions) {
            running_.push_back(std::make_shared<shared_partition>(kafka::position(p.topic, p.partition)));
            jobs.spawn(runner, borrowed(*this), running_.back());
        }
    }
    // Acknowledged when the jobs have ended: then the next owner begins.
    call<void> end(environment&, const kafka::polled& change) {
        auto&& here = co_await context();
        std::vector<partition_share> ending;
        std::erase_if(running_, [&](const partition_share& each) {
            const bool goes = std::ranges::any_of(change.partitions,
                                                  [&](const kafka::position& p) { return names_same(each->of, p); });
            if (goes) ending.push_back(each);
            return goes;
        });
        for (const partition_share& each : ending) {
            if (change.what == kafka::polled::kind::lost) {
                each->lost.set();
            } else {
                each->control.drain();
            }
        }
        for (const partition_share& each : ending) co_await each->ended.wait();
        co_await in_.acknowledge(here, change);
    }

    kafka::consumer in_;
    std::chrono::milliseconds hears_within_;  // of a loss
    kafka::partition_job job_;
    std::vector<partition_share> running_;  // the poller's; behind it, the one's who joins the jobs
};

}  // namespace
}  // namespace coflux::detail

namespace coflux::kafka {

call<void> share_partitions(environment&, consumer_options member, std::vector<std::string> topics, partition_job job,
                            stream::job_control& control) {
    auto&& here = co_await context();
    if (topics.empty()) throw std::invalid_argument("coflux: Kafka: share_partitions() needs a topic");
    if (!job) throw std::invalid_argument("coflux: Kafka: share_partitions() needs a job");
    detail::partition_sharer sharer(member, std::move(job));
    co_await sharer.run(here, std::move(topics), control);
}

}  // namespace coflux::kafka
