#include "reactors.hpp"

#include <seastar/core/app-template.hh>

#include <exception>
#include <optional>
#include <sched.h>
#include <string>
#include <vector>

namespace lab {
namespace {

unsigned cpus_of_this_process() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    return static_cast<unsigned>(CPU_COUNT(&allowed));
}

std::vector<std::string> options(unsigned shards, waiting how, std::uint64_t tasks) {
    // A task takes half a kilobyte, and a shard keeps some memory back.
    const std::uint64_t megabytes = 512 + tasks / 1'024;
    std::vector<std::string> all{"lab_seastar", "--smp", std::to_string(shards), "--memory",
                                 std::to_string(megabytes) + "M"};
    // Warnings are about the machine's disks and clocks. Reports of stalls are backtraces, which would be in the time.
    all.insert(all.end(), {"--default-log-level", "error", "--blocked-reactor-notify-ms", "1000000"});
    if (how == waiting::sleeps) {
        all.push_back("--overprovisioned");
    } else {
        all.insert(all.end(), {"--idle-poll-time-us", "200"});
    }
    return all;
}

}  // namespace

harness::measured on_shards(unsigned shards, waiting how, const std::function<ss::future<harness::measured>()>& root,
                            std::uint64_t tasks) {
    if (shards > cpus_of_this_process()) {
        throw harness::unsupported_params("Seastar has a CPU for each shard, and takes no more shards than CPUs");
    }
    std::vector<std::string> words = options(shards, how, tasks);
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    std::optional<harness::measured> result;
    std::exception_ptr failure;
    ss::app_template app;
    const int status = app.run(static_cast<int>(arguments.size()), arguments.data(), [&] {
        return root().then_wrapped([&](ss::future<harness::measured> ended) {
            if (ended.failed()) {
                failure = ended.get_exception();
            } else {
                result = ended.get();
            }
            return 0;
        });
    });
    if (failure) {
        std::rethrow_exception(failure);
    }
    if (!result) {
        throw std::runtime_error{"Seastar's reactors did not start: status " + std::to_string(status)};
    }
    return *std::move(result);
}

}  // namespace lab
