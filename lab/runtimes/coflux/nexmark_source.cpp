// Nexmark over a file and over a topic, whose lines are events.
// Idioms: docs/tour/01-first-program.md, docs/tour/04-waiting.md, docs/howto/scale-out-on-kafka.md
#include "nexmark/line.hpp"
#include "nexmark_flows.hpp"
#include "nexmark_work.hpp"
#include "workloads.hpp"
#ifdef LAB_HAS_KAFKA
#    include "whole_topic.hpp"

#    include <coflux/kafka/decode.hpp>
#endif

namespace lab {
namespace {

const auto when = [](const event& e) { return std::chrono::sys_time<milliseconds>{milliseconds{nexmark::time_of(e)}}; };

coflux::task<std::uint64_t, pool> ask_file(coflux::environment&, nexmark::query which, std::string path,
                                           watch_ref watch) {
    auto& here = co_await coflux::context();
    watch->start();
    const std::uint64_t answer = co_await ask<event>(here, which, [&path] {
        return stream::from(stream::line_source{path}) | stream::parse(&nexmark::event_of) | stream::event_times(when);
    });
    watch->stop();
    co_return answer;
}

#ifdef LAB_HAS_KAFKA
using topic_ref = coflux::borrowed<const filled_topic>;

coflux::task<std::uint64_t, pool> ask_topic(coflux::environment&, nexmark::query which, topic_ref of, watch_ref watch) {
    auto& here = co_await coflux::context();
    const kafka::consumer_options reader{.client = {.brokers = of->broker}, .group = name_of_pass()};
    kafka::partition_source in{reader, co_await kafka::partitions_of(here, reader, of->topic)};
    whole_topic all{in, of->records, *watch};
    const std::uint64_t answer = co_await ask<event>(here, which, [&all] {
        return stream::from(all) | kafka::decode(&nexmark::event_of) | stream::event_times(when);
    });
    watch->stop();
    co_await in.close(here);
    co_return answer;
}

harness::measured of_topic(const harness::request& r) {
    const nexmark::query query = harness::query_of(r);
    const filled_topic of{1, r.integer("events")};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return ask_topic(env, query, coflux::borrowed(of), coflux::borrowed(watch)).get();
    });
}
#else
harness::measured of_topic(const harness::request&) {
    throw harness::unsupported_params{"built without coflux::kafka: install librdkafka-dev"};
}
#endif

}  // namespace

harness::measured nexmark_source(const harness::request& r) {
    if (r.choice("source", {"file", "kafka"}) == "kafka") {
        return of_topic(r);
    }
    const nexmark::query query = harness::query_of(r);
    const std::string path = harness::nexmark_file();
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return ask_file(env, query, path, coflux::borrowed(watch)).get(); });
}

}  // namespace lab
