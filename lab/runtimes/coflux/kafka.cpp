// Stream jobs on Kafka, each with one worker.
// Idioms: docs/tour/01-first-program.md, docs/tour/04-waiting.md, docs/tour/06-a-stream-job.md,
//   docs/howto/scale-out-on-kafka.md
#include "kafka_work.hpp"
#include "nexmark/rows.hpp"
#include "whole_topic.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>
#include <coflux/kafka/decode.hpp>
#include <coflux/kafka/sink.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/kafka/transactional_sink.hpp>
#include <coflux/stream/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using watch_ref = coflux::borrowed<harness::stopwatch>;
using work_ref = coflux::borrowed<const kafka_work>;

class ending : public kafka::source {
public:
    ending(const kafka::consumer_options& member, const kafka_work& work, harness::stopwatch& watch)
        : kafka::source{member, {work.topic}},
          left_{work.records, watch} {}

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<kafka::message>& into, std::size_t most) {
        auto& here = co_await coflux::context();
        kafka::source& in = *this;
        co_return co_await read_on(here, in, left_, into, most);
    }

private:
    countdown left_;
};

kafka::consumer_options member_of(const kafka_work& work, const std::string& group) {
    return {.client = {.brokers = work.broker}, .group = group};
}

struct tally_amounts {
    struct state {
        std::uint64_t count = 0;
        std::uint64_t sum = 0;
        template <typename A>
        void fields(A& all) {
            all(count, sum);
        }
    };

    void add(state& s, const kafka_record& r) const {
        ++s.count;
        s.sum += r.amount;
    }
    void merge(state& s, const state& later) const {
        s.count += later.count;
        s.sum += later.sum;
    }
    [[nodiscard]] state result(const state& s) const { return s; }
};

coflux::task<std::uint64_t, pool> count(coflux::environment&, work_ref work, std::string pass, watch_ref watch) {
    auto& here = co_await coflux::context();
    const kafka::consumer_options reader = member_of(*work, pass);
    kafka::partition_source in{reader, co_await kafka::partitions_of(here, reader, work->topic)};
    whole_topic all{in, work->records, *watch};
    nexmark::row_sum out;
    const auto read = [](const kafka::message& m) { return kafka_record::read(m.key(), m.value()); };
    const auto add = [&out](const auto& w) { out.add(w.key, w.value.count, w.value.sum); };
    (void)co_await stream::run(here,
                               stream::from(all) | kafka::decode(read) | stream::by_key(&kafka_record::key) |
                                   stream::window(stream::all_time(), tally_amounts{}) |
                                   stream::to(stream::for_each(add)),
                               stream::job{.workers = 1});
    watch->stop();
    co_await in.close(here);
    co_return out.value();
}

const auto with_twice_the_amount = [](const kafka::message& m) {
    return kafka_bytes::with_twice_the_amount(m.key(), m.value());
};
const auto as_message = [](const kafka_bytes& b, kafka::outgoing& m) {
    m.key = b.key_view();
    m.value = b.value_view();
};

coflux::task<std::uint64_t, pool> copy(coflux::environment&, work_ref work, std::string pass, watch_ref watch) {
    auto& here = co_await coflux::context();
    const kafka::consumer_options member = member_of(*work, pass);
    ending in{member, *work, *watch};
    if (work->what == kafka_work::job::copy) {
        kafka::sink out({.client = member.client}, pass, as_message);
        (void)co_await stream::run(here, stream::from(in) | kafka::decode(with_twice_the_amount) | stream::to(out),
                                   stream::job{.workers = 1, .commit_every = work->commit_every});
        watch->stop();
        co_await out.close(here);
    } else {
        kafka::transactional_sink out(in, {.client = member.client, .transactional_id = pass}, pass, as_message);
        (void)co_await stream::run(
            here, stream::from(in) | kafka::decode(with_twice_the_amount) | stream::to(out),
            stream::job{.workers = 1, .commit_every = work->commit_every, .delivery = stream::exactly_once});
        watch->stop();
        co_await out.close(here);
    }
    co_await in.close(here);
    co_return 0;
}

}  // namespace

harness::measured kafka_job(const harness::request& r) {
    const kafka_work work{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        const std::string pass = name_of_pass();
        const work_ref of = coflux::borrowed(work);
        if (work.what == kafka_work::job::count) {
            return count(env, of, pass, coflux::borrowed(watch)).get();
        }
        work.make_topic(pass);
        (void)copy(env, of, pass, coflux::borrowed(watch)).get();
        const std::uint64_t answer = work.answer_of(pass);
        work.drop_topic(pass);
        return answer;
    });
}

}  // namespace lab
