// A stream job on Kafka, exactly once: amounts of one topic become bills in another. The job dies in the middle of a
// transaction, the next one goes on, and each order has one bill. COFLUX_KAFKA_BROKER has the broker's address.
#include <coflux/coflux.hpp>
#include <coflux/kafka/create_topic.hpp>
#include <coflux/kafka/decode.hpp>
#include <coflux/kafka/transactional_sink.hpp>
#include <coflux/stream/stream.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kafka = coflux::kafka;
namespace stream = coflux::stream;
using pool = coflux::thread_pool_executor;

int amount_of(std::string_view text) {
    return std::stoi(std::string(text));
}
std::string bill_of(int amount) {
    return "please pay " + std::to_string(amount);
}

coflux::task<void, pool> writes_bills(coflux::environment&, std::string broker) {
    auto& here = co_await coflux::context();
    const kafka::client_options client{.brokers = broker};
    co_await kafka::create_topic(here, client, {.name = "orders", .partitions = 2});
    co_await kafka::create_topic(here, client, {.name = "bills"});
    kafka::producer sender({.client = client});
    for (int i = 0; i != 300; ++i) co_await sender.send(here, {.topic = "orders", .value = std::to_string(i)});
    co_await sender.flush(here);

    std::set<std::string> written;
    int crashes = 1;
    for (bool is_done = false; !is_done;) {
        kafka::source orders({.client = client, .group = "billing"}, {"orders"});
        kafka::transactional_sink bills(orders, {.client = client, .transactional_id = "billing-1"}, "bills");
        stream::job_control control;
        const auto drains_at_last = [&](const std::string& bill) {
            written.insert(bill);
            if (written.size() == 150 && crashes-- == 1) throw std::runtime_error("the machine is gone");
            if (written.size() == 300) control.drain();
        };
        try {
            co_await stream::run(here,
                                 stream::from(orders) | kafka::decode(amount_of) | stream::map(bill_of) |
                                     stream::tap(drains_at_last) | stream::to(bills),
                                 stream::job{.workers = 1, .delivery = stream::exactly_once, .control = &control});
            is_done = true;
        } catch (const std::runtime_error& e) {
            std::printf("%s\n", e.what());
        }
        co_await orders.close(here);
    }
    kafka::consumer reader({.client = client, .group = "readers"});
    co_await reader.assign(here, {{"bills", 0, kafka::place::beginning}});
    std::vector<kafka::message> got;
    while (got.size() < 300) (void)co_await reader.poll(here, got);
    std::map<std::string_view, int> bills;
    for (const kafka::message& m : got) ++bills[m.value()];
    std::printf("%zu orders have a bill each\n", bills.size());
}

int main() {
    const char* const broker = std::getenv("COFLUX_KAFKA_BROKER");
    if (broker == nullptr) {
        std::puts("skipped, because COFLUX_KAFKA_BROKER names no broker: scripts/kafka start prints one");
        return 77;
    }
    pool threads{2};
    auto env = coflux::make_environment(threads);
    writes_bills(env, broker).get();
}
