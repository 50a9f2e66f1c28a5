// moodycamel's ConcurrentQueue between threads. It is a queue and no runtime: the threads are the system's.
#include "crew.hpp"
#include "definitions.hpp"
#include "harness.hpp"

#include <concurrentqueue/blockingconcurrentqueue.h>
#ifdef LAB_HAS_READERWRITERQUEUE
#    include <readerwriterqueue/readerwritercircularbuffer.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace {

using moodycamel::LightweightSemaphore;

// BlockingConcurrentQueue parks its consumers and has no bound; the bound is a second semaphore of the kind that it
// uses.
class sender;
class receiver;

struct bounded_queue {
    explicit bounded_queue(std::size_t capacity)
        : values{capacity},
          places{static_cast<LightweightSemaphore::ssize_t>(capacity)} {}

    [[nodiscard]] sender sending();
    [[nodiscard]] receiver receiving();

    moodycamel::BlockingConcurrentQueue<std::uint64_t> values;
    LightweightSemaphore places;
};

// The ends of one thread, with the tokens that spare the queue a search.
class sender {
public:
    explicit sender(bounded_queue& queue) : queue_{queue}, token_{queue.values} {}

    void send(std::uint64_t value) {
        queue_.places.wait();
        queue_.values.enqueue(token_, value);
    }

private:
    bounded_queue& queue_;
    moodycamel::ProducerToken token_;
};

class receiver {
public:
    explicit receiver(bounded_queue& queue) : queue_{queue}, token_{queue.values} {}

    std::uint64_t receive() {
        std::uint64_t value = 0;
        queue_.values.wait_dequeue(token_, value);
        queue_.places.signal();
        return value;
    }

private:
    bounded_queue& queue_;
    moodycamel::ConsumerToken token_;
};

sender bounded_queue::sending() {
    return sender{*this};
}

receiver bounded_queue::receiving() {
    return receiver{*this};
}

template <typename MakeQueue>
harness::measured one_to_one(const harness::request& r, MakeQueue make) {
    const std::uint64_t count = r.integer("count");
    return harness::measure(r, [&make, count](harness::stopwatch& watch) {
        auto queue = make();
        harness::ordered_sum sum;
        harness::crew threads{2};
        threads.add([&queue, count] {
            auto to = queue.sending();
            for (std::uint64_t i = 1; i <= count; ++i) {
                to.send(i);
            }
        });
        threads.add([&queue, &sum, count] {
            auto from = queue.receiving();
            for (std::uint64_t i = 0; i < count; ++i) {
                sum.add(from.receive());
            }
        });
        threads.run(watch);
        return sum.value();
    });
}

harness::measured channel_spsc(const harness::request& r) {
    return one_to_one(r, [capacity = r.integer("capacity")] { return bounded_queue{capacity}; });
}

#ifdef LAB_HAS_READERWRITERQUEUE
// Its author's queue for one thread on each side, bounded, blocking, and a ring: what he would take here.
class ring {
public:
    class end {
    public:
        explicit end(ring& of) noexcept : values_{of.values_} {}

        void send(std::uint64_t value) { values_.wait_enqueue(value); }
        std::uint64_t receive() {
            std::uint64_t value = 0;
            values_.wait_dequeue(value);
            return value;
        }

    private:
        moodycamel::BlockingReaderWriterCircularBuffer<std::uint64_t>& values_;
    };

    explicit ring(std::size_t capacity) : values_{capacity} {}

    [[nodiscard]] end sending() noexcept { return end{*this}; }
    [[nodiscard]] end receiving() noexcept { return end{*this}; }

private:
    moodycamel::BlockingReaderWriterCircularBuffer<std::uint64_t> values_;
};

harness::measured channel_spsc_expert(const harness::request& r) {
    return one_to_one(r, [capacity = r.integer("capacity")] { return ring{capacity}; });
}
#endif

// The numbers start with 1, so two words are free.
constexpr std::uint64_t end_of_one_producer = 0;
constexpr std::uint64_t end_of_all = std::numeric_limits<std::uint64_t>::max();

// The queue cannot be closed, and it keeps the order of each producer only. So each ends with a word of its own, and
// the one that takes the last of those knows that all numbers are out, and tells the others.
std::uint64_t receive_to_the_end(bounded_queue& queue, std::atomic<std::uint64_t>& sending, std::uint64_t consumers) {
    receiver from{queue};
    for (std::uint64_t sum = 0;;) {
        const std::uint64_t value = from.receive();
        if (value == end_of_all) {
            return sum;
        }
        if (value != end_of_one_producer) {
            sum += value;
        } else if (sending.fetch_sub(1) == 1) {
            sender to_the_others{queue};
            for (std::uint64_t c = 1; c < consumers; ++c) {
                to_the_others.send(end_of_all);
            }
            return sum;
        }
    }
}

harness::measured channel_mpmc(const harness::request& r) {
    const std::uint64_t capacity = r.integer("capacity");
    const std::uint64_t consumers = r.integer("consumers");
    const std::vector<harness::share> shares = harness::shares_of(r);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        bounded_queue queue{capacity};
        std::atomic<std::uint64_t> sending{shares.size()};
        std::atomic<std::uint64_t> sum{0};
        harness::crew threads{shares.size() + consumers};
        for (const harness::share mine : shares) {
            threads.add([&queue, mine] {
                sender to{queue};
                for (std::uint64_t i = mine.first; i <= mine.last; ++i) {
                    to.send(i);
                }
                to.send(end_of_one_producer);
            });
        }
        for (std::uint64_t c = 0; c < consumers; ++c) {
            threads.add([&] { sum.fetch_add(receive_to_the_end(queue, sending, consumers)); });
        }
        threads.run(watch);
        return sum.load();
    });
}

harness::measured mpsc_batches(const harness::request& r) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    return harness::measure(r, [=](harness::stopwatch& watch) {
        using numbers = std::vector<std::uint64_t>;
        moodycamel::BlockingConcurrentQueue<numbers> queue;
        harness::ordered_sum sum;
        harness::crew threads{2};
        threads.add([&queue, batches, batch] {
            moodycamel::ProducerToken token{queue};
            for (std::uint64_t b = 0; b < batches; ++b) {
                queue.enqueue(token, harness::batch_of(b, batch));
            }
        });
        threads.add([&queue, &sum, batches] {
            moodycamel::ConsumerToken token{queue};
            for (std::uint64_t b = 0; b < batches; ++b) {
                numbers received;
                queue.wait_dequeue(token, received);
                sum.add(harness::sum_of(received));
            }
        });
        threads.run(watch);
        return sum.value();
    });
}

}  // namespace

int main(int argc, char** argv) {
    harness::app app{"moodycamel", LAB_MOODYCAMEL_VERSION, "the queue's own blocks over malloc"};
    const char* bounded = "BlockingConcurrentQueue with tokens, bounded by a LightweightSemaphore; a thread a task";
    app.add("channel_spsc", channel_spsc, bounded);
#ifdef LAB_HAS_READERWRITERQUEUE
    app.add_expert("channel_spsc", channel_spsc_expert,
                   "BlockingReaderWriterCircularBuffer: bounded, for one thread on each side");
#endif
    app.add("channel_mpmc", channel_mpmc, bounded);
    app.add("mpsc_batches", mpsc_batches, "BlockingConcurrentQueue with tokens between two threads");
    app.unsupported("channel_rendezvous",
                    "the queue always has a buffer: a sender cannot wait until its value was taken");
    app.rest_unsupported("a queue and no runtime: it has no tasks, locks, timers or I/O");
    return app.main(argc, argv);
}
