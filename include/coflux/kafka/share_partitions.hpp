// kafka::share_partitions: a job for each partition that a group gives this process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/position.hpp>
#include <coflux/stream/job.hpp>

namespace coflux::kafka {

/// The job of one partition: `co_await job(here, partition, control)` runs it until `control` drains it.
using partition_job = std::function<call<void>(environment&, const position&, stream::job_control&)>;

/// Divides the partitions of topics among the processes of a group, and runs a job for each that this process has:
/// `co_await kafka::share_partitions(here, member, {"orders"}, job, control)`. So flows with a state scale out: the job
/// has a partition_source of its partition and a topic_store under the same number, and the state goes where the
/// partition goes.
///
/// A partition that goes to another process has its job drained before it is released, so the next owner finds all that
/// was done. One that was lost has its job stopped: another process may have it already, and fences what it stores. An
/// error of that job is none of the member's. A member that was paused may be fenced before it is told of the loss: it
/// waits up to session_timeout for that. The other way round it may fence the rightful owner, if its job begins before
/// it is told; that one's job then fails with an error that is_fatal(), and its process shares again.
/// `control.drain()` drains all jobs, leaves the group, and ends. It is all that is used of `control`: its run_ended()
/// does not come, and its snapshot() has nothing.
///
/// Shapes: the group only divides: it reads nothing and commits nothing. The sources of the jobs have a group of
/// another name, for their positions. Several topics have a topic of states each, and the topic's name in the
/// transactional id and the name of the job.
/// Errors: the first error of a job, which stops the others; kafka::error as consumer::subscribe() and poll().
/// Stops: it stops the jobs, leaves the group, and ends.
/// Threads: jobs are forks on the executor of the awaiting coroutine.
/// Costs: the client of a consumer; and of each partition what its job has, as a client for its source.
/// Lifetime: what the job refers to, and `control`, outlive the await.
[[nodiscard("nothing is shared until this is awaited: co_await it")]] call<void>
share_partitions(environment& env, consumer_options member, std::vector<std::string> topics, partition_job job,
                 stream::job_control& control);

}  // namespace coflux::kafka
