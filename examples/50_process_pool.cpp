// A pool of processes: three children at a time, which answer line by line. Each ends after four answers, and the next
// one takes its place.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

using coflux::process;
using coflux::standard_stream;
using pool = coflux::thread_pool_executor;

struct job {
    int number;
    coflux::oneshot_sender<std::string> answer;
};
using jobs = coflux::channel<job[8]>;

// It squares what it reads, and ends at the fifth line without an answer.
const char* const squares = "for i in 1 2 3 4; do read n || exit; echo $((n * n)); done; read n";

// None where the child has ended, also within an answer.
coflux::call<std::optional<std::string>> answer_of(coflux::buffered_reader<coflux::child_reader>& child) {
    auto&& here = co_await coflux::context();
    try {
        if (const auto line = co_await child.read_line(here)) co_return std::string(*line);
    } catch (const coflux::end_of_stream&) {  // NOLINT(bugprone-empty-catch): half a line is none
    }
    co_return std::nullopt;
}

coflux::fork<void, pool> helps(coflux::environment&, jobs* queue) {
    std::optional<job> next = co_await queue->receive();
    while (next) {
        // A stop, or an error, of this coroutine ends the child with it.
        process child = co_await process::spawn({"sh", "-c", squares},
                                                {.input = standard_stream::pipe(), .output = standard_stream::pipe()});
        coflux::buffered_reader answers(child.standard_output());
        while (next) {
            const std::string line = std::to_string(next->number) + "\n";
            if (!co_await coflux::as_result(child.standard_input().write_all(line))) break;
            auto answer = co_await answer_of(answers);
            if (!answer) break;  // the job is the next one's
            (void)next->answer.send(std::move(*answer));
            next = co_await queue->receive();
        }
    }
}

coflux::fork<std::string, pool> asks(coflux::environment&, jobs* queue, int number) {
    auto [answer, result] = coflux::make_oneshot<std::string>();
    job question{number, std::move(answer)};
    if (!co_await queue->send(std::move(question))) co_return "nobody answers";
    const auto got = co_await result.receive();
    co_return got.value_or("no answer");
}

coflux::task<void, pool> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    jobs queue;
    std::vector<coflux::fork<void, pool>> helpers;
    for (int i = 0; i < 3; ++i) helpers.push_back(helps(here, &queue));
    std::vector<coflux::fork<std::string, pool>> questions;
    for (int i = 1; i <= 20; ++i) questions.push_back(asks(here, &queue, i));
    const auto answers = co_await coflux::when_all(std::move(questions));
    for (const std::string& answer : answers) std::printf("%s ", answer.c_str());
    std::printf("\n");
    queue.close();
    co_await coflux::when_all(std::move(helpers));
}

int main() {
    return coflux::run(program);
}
