// A consumer of the optional library.
#include <cstdio>
#include <stdexcept>

#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/producer.hpp>

int main() {
    const coflux::kafka::producer out({.client = {.brokers = "127.0.0.1:1"}});
    try {
        const coflux::kafka::consumer in({.client = {.brokers = "127.0.0.1:1"}});
    } catch (const std::invalid_argument& e) {
        std::puts(e.what());
        return out.counters().sent == 0 ? 0 : 1;
    }
    return 1;
}
