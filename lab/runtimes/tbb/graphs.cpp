// Pipelines and chains as flow graphs: a node a stage, through which one message goes at a time.
#include "workloads.hpp"

#include <tbb/flow_graph.h>

#include <cstddef>
#include <deque>

namespace lab {
namespace {

namespace flow = tbb::flow;

// A message carries what the stages before have added, and a stage adds one. Messages wait in no node, as there is one
// at a time, and a body is shorter than a task: lightweight bodies run where the message comes from.
using stage = flow::function_node<std::uint64_t, std::uint64_t, flow::lightweight>;
using last_stage = flow::function_node<std::uint64_t, flow::continue_msg>;

// Stages in a row; the last one sends the next message to the first, until there were `messages`. Each message begins
// with its number where `numbered`, else with 0.
class row {
public:
    row(flow::graph& graph, std::uint64_t depth, std::uint64_t messages, bool numbered)
        : messages_{messages},
          numbered_{numbered},
          end_{graph, flow::serial, [this](std::uint64_t value) { ended(value); }} {
        for (std::uint64_t d = 0; d < depth; ++d) {
            stages_.emplace_back(graph, flow::serial, [](std::uint64_t value) noexcept { return value + 1; });
        }
        for (std::size_t d = 0; d + 1 < stages_.size(); ++d) {
            flow::make_edge(stages_[d], stages_[d + 1]);
        }
        flow::make_edge(stages_.back(), end_);
    }

    void begin() {
        if (messages_ != 0) {
            stages_.front().try_put(0);
        }
    }
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

private:
    void ended(std::uint64_t value) {
        sum_ += value;
        if (++done_ != messages_) {
            stages_.front().try_put(numbered_ ? done_ : 0);
        }
    }

    std::uint64_t messages_;
    bool numbered_;
    std::uint64_t done_ = 0;
    std::uint64_t sum_ = 0;
    last_stage end_;
    std::deque<stage> stages_;
};

std::uint64_t run_rows(std::uint64_t rows, std::uint64_t depth, std::uint64_t messages, bool numbered) {
    flow::graph graph;
    std::deque<row> all;
    for (std::uint64_t r = 0; r < rows; ++r) {
        all.emplace_back(graph, depth, messages, numbered);
    }
    for (row& each : all) {
        each.begin();
    }
    graph.wait_for_all();
    std::uint64_t sum = 0;
    for (const row& each : all) {
        sum += each.sum();
    }
    return sum;
}

harness::measured measure_rows(const harness::request& r, std::uint64_t rows, std::uint64_t messages, bool numbered) {
    const std::uint64_t depth = r.integer("depth");
    if (depth == 0) {
        throw harness::usage_error{"depth is at least 1"};
    }
    workers pool{r.threads()};
    return harness::measure(r, [&] { return pool.run([&] { return run_rows(rows, depth, messages, numbered); }); });
}

}  // namespace

harness::measured pipeline_expert(const harness::request& r) {
    return measure_rows(r, r.integer("concurrency"), r.integer("items"), false);
}

harness::measured suspend_chain_expert(const harness::request& r) {
    return measure_rows(r, r.integer("chains"), r.integer("values"), true);
}

}  // namespace lab
