// Coflux awaits what it does not know, and resumes on the coroutine's own executor, whatever wakes it.
#include <coflux/coflux.hpp>

#include <coroutine>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>

using pool = coflux::thread_pool_executor;

/// A library with callbacks: answers on a thread of its own.
class old_service {
public:
    ~old_service() {
        if (thread_.joinable()) thread_.join();
    }
    void ask(std::string question, std::function<void(std::string)> answer) {
        thread_ = std::thread([q = std::move(question), a = std::move(answer)] { a("the answer to " + q); });
    }

private:
    std::thread thread_;
};

/// Its awaitable, in plain C++20: it has never heard of Coflux.
class asking {
public:
    asking(old_service& service, std::string question) : service_(service), question_(std::move(question)) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
        service_.ask(std::move(question_), [this, waiting](std::string answer) {
            answer_ = std::move(answer);
            waiting.resume();  // queues the coroutine; it does not run on this thread
        });
    }
    std::string await_resume() { return std::move(answer_); }

private:
    old_service& service_;
    std::string question_;
    std::string answer_;
};

coflux::task<std::string, pool> asks(coflux::environment&, std::string question) {
    old_service service;
    const std::thread::id before = std::this_thread::get_id();
    std::string answer = co_await asking(service, std::move(question));
    std::printf("resumed %s\n", std::this_thread::get_id() == before ? "in the pool" : "elsewhere");
    co_return answer;
}

int main() {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    std::printf("%s\n", asks(env, "everything").get().c_str());
}
