#include <coflux/io/process.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/executor/blocking_pool.hpp>
#include <coflux/executor/noop_executor.hpp>
#include <coflux/time/timeout.hpp>

#include "io/detail/descriptor.hpp"
#include "os/net/socket.hpp"
#include "os/process/child_process.hpp"
#include "os/process/process.hpp"

namespace coflux {
namespace detail {
namespace {

/// The type of every child_state. A process that fork() makes has a copy of it, and no child.
struct made_child : child_state {
    os::process_mark parent;
};
bool is_own(const child_state& s) noexcept {
    return static_cast<const made_child&>(s).parent.is_here();
}
void forget(child_state* of) noexcept {
    delete static_cast<made_child*>(of);
}

void record_end(child_state& s, const os::child_end& end) noexcept {
    s.is_signal = end.is_signal;
    s.code = end.code;
    s.has_ended.store(true, memory_order_release);  // pairs with has_child_ended()
}
bool has_child_ended(const child_state& s) noexcept {
    return s.has_ended.load(memory_order_acquire);  // pairs with record_end()
}

/// A name in messages, which have room for a part.
endpoint message_name(const char* what, const std::string& program) {
    std::string text = std::string(what) + program;
    if (text.size() > 80) text.resize(80);
    return endpoint::local(text);
}

/// Sends a signal to it, or to its group if it leads one. os::gone() also where its end was taken.
int send_signal(child_state& s, int number) noexcept {
    const adaptive_guard guard(s.end_lock);
    if (has_child_ended(s)) return os::gone();
    if (s.leads_group) {
        if (const int e = os::signal_group(s.pid, number); e != os::gone()) return e;
        // It has left its group, and was the last one there.
    }
    return os::signal_child(s.pidfd.number(), number);
}

/// Children that were left, and whose ends no event source waits for, because there was none to be had. Written by any
/// thread: release when one is put in, acquire when all are taken out.
constinit atomic<child_state*> left_children{nullptr};

void keep_left_child(child_state* of) noexcept {
    of->next_left = left_children.load(memory_order_relaxed);  // the CAS tells if it is old
    while (!left_children.compare_exchange_weak(of->next_left, of, memory_order_release, memory_order_relaxed)) {}
}
/// Takes the ends of those that have ended.
void take_left_children() noexcept {
    child_state* all = left_children.exchange(nullptr, memory_order_acquire);  // pairs with keep_left_child()
    while (all != nullptr) {
        child_state* const one = std::exchange(all, all->next_left);
        if (os::has_child_ended(one->pid)) {
            forget(one);
        } else {
            keep_left_child(one);
        }
    }
}

/// The reaper: takes the end of a child that was left, so that it is no zombie. It waits in the event source of the
/// process, because the executor that the child was used on may end first.
fork<void, noop_executor> reaps(environment&, child_state* left) {
    child_handle of(left);
    try {
        if (has_io_service()) (void)co_await as_result(wait_process_request(of));
    } catch (...) {  // no thread, or no memory, for the wait
    }
    of.release()->pidfd = {};
    if (has_child_ended(*left) || os::has_child_ended(left->pid)) {
        forget(left);
    } else {
        keep_left_child(left);
    }
}

void leave_child(child_state* of) noexcept {
    take_left_children();
    if (os::has_child_ended(of->pid)) return forget(of);
    try {
        // Never destroyed: what waits in it at the end of the process waits for ever.
        static environment& reapers = *new auto(make_environment(noop_executor()));
        reaps(reapers, of).attach();
    } catch (...) {  // no memory
        of->pidfd = {};
        keep_left_child(of);
    }
}

void kill_dropped(child_state& s) noexcept {
    const int e = send_signal(s, SIGKILL);
    if (e >= 0 || e == os::gone()) return;
    std::exception_ptr error;
    try {
        throw_io_error(e, "send SIGKILL, as its owner dies, to", s.pidfd.peer());
    } catch (...) {
        error = std::current_exception();
    }
    report_from_destructor(s.on_error, std::move(error));
}

}  // namespace

// --- the child -------------------------------------------------------------------------------------------------------

child_handle& child_handle::operator=(child_handle&& other) noexcept {
    if (this != &other) {
        drop();
        owned_ = other.release();
    }
    return *this;
}
child_state& child_handle::get() const noexcept {
    COFLUX_VERIFY(owned_ != nullptr, "an operation of a process that was moved from, or has no child");
    return *owned_;
}
void child_handle::drop() noexcept {
    child_state* const s = release();
    if (s == nullptr) return;
    if (!is_own(*s) || has_child_ended(*s) || !s->pidfd.is_open()) return forget(s);
    COFLUX_VERIFY(!s->pidfd.get().is_waited_for(), "a process dies while wait() waits for its end (%s)",
                  s->pidfd.peer().to_string().c_str());
    if (!s->leaves_running) kill_dropped(*s);
    leave_child(s);
}

constinit const io_kind wait_process_awaiter::kind{
    &take_end, direction::in, {&io_operation::claim, &wait_operation::stop_claimed, "the end of a process"}};

bool wait_process_awaiter::take_end(io_operation& op) noexcept {
    auto& w = static_cast<wait_process_awaiter&>(op);
    os::child_end end{};
    const adaptive_guard guard(w.of_.end_lock);
    if (w.of_.ends_group && os::has_end_to_take(w.on().number)) (void)os::signal_group(w.of_.pid, SIGKILL);
    w.error_ = os::take_child_end(w.on().number, end);
    if (os::would_block(w.error_)) return false;
    if (w.error_ >= 0) record_end(w.of_, end);
    return true;
}
exit_status wait_process_awaiter::await_resume() {
    resumed();
    if (error_ < 0) throw_io_error(error_, "wait for", on().peer);
    return end_of(of_);
}
io_result<exit_status> wait_process_awaiter::resume_with_result() noexcept {
    resumed();
    if (error_ < 0) return io_error(error_);
    return end_of(of_);
}

// --- spawn -----------------------------------------------------------------------------------------------------------

namespace {

std::vector<const char*> argument_pointers(const std::vector<std::string>& strings) {
    std::vector<const char*> result;
    result.reserve(strings.size() + 1);
    for (const std::string& s : strings) {
        if (s.find('\0') != std::string::npos)
            throw std::invalid_argument("coflux: spawn: an argument or variable has a zero byte: " + s);
        result.push_back(s.c_str());
    }
    result.push_back(nullptr);
    return result;
}

/// Errors: std::bad_alloc; then the child is gone.
void keep_child(child_state& s, int pidfd, const endpoint& name) {
    try {
        s.pidfd = descriptor_handle(pidfd, name);
    } catch (...) {
        os::end_child(s.pid);
        throw;
    }
}

}  // namespace

constexpr const char* in_the_directory = "in the directory";

constinit const pool_operation::steps spawn_awaiter::does{nullptr, &spawn, "spawn"};

spawn_awaiter::spawn_awaiter(promise_base& p, const command_line& command, process_options& options)
    : pool_operation(p, *(options.pool == nullptr ? blocking_pool::shared() : *options.pool).threads_, nullptr, does),
      command_(command.words()),
      options_(options),
      arguments_(argument_pointers(command.words())) {
    if (command_.empty() || command_[0].empty()) throw std::invalid_argument("coflux: spawn: there is no program");
    if (options.directory.find('\0') != std::string::npos)
        throw std::invalid_argument("coflux: spawn: the directory has a zero byte: " + options.directory);
    if (const auto& own = options.environment.entries(); own.has_value()) environment_ = argument_pointers(*own);
    made_ = child_handle(new made_child);
    made_.get().leaves_running = options.dropped == when_dropped::leave;
    made_.get().leads_group = options.leads_group;
    made_.get().on_error = p.data().on_error;
}

void spawn_awaiter::spawn(pool_operation& op) noexcept {
    auto& s = static_cast<spawn_awaiter&>(op);
    s.result_ = s.spawn_now();
}

int spawn_awaiter::spawn_now() noexcept {
    take_left_children();
    os::child_plan plan{.arguments = arguments_.data(),
                        .environment = options_.environment.entries().has_value() ? environment_.data() : nullptr,
                        .directory = options_.directory.empty() ? nullptr : options_.directory.c_str(),
                        .streams = {},
                        .leads_group = options_.leads_group};
    int child_ends[3] = {-1, -1, -1};
    const standard_stream asked[3] = {options_.input, options_.output, options_.error};
    static constexpr const char* names[3] = {"a pipe to ", "a pipe from ", "a pipe from "};
    int e = 0;
    try {
        for (int i = 0; i != 3 && e >= 0; ++i) {
            switch (asked[i].kind_) {
            case standard_stream::kind::inherit: plan.streams[i] = os::inherited_stream; break;
            case standard_stream::kind::null: plan.streams[i] = os::null_stream; break;
            case standard_stream::kind::descriptor:
                // One that is negative is none, and neither of the above.
                plan.streams[i] = asked[i].number_ < 0 ? os::no_stream : asked[i].number_;
                break;
            case standard_stream::kind::pipe: {
                failed_ = "with a pipe";
                int own = -1;
                e = os::open_child_pipe(child_ends[i], own, i == 0);
                if (own >= 0) streams_[i] = descriptor_handle(own, message_name(names[i], command_[0]));
                plan.streams[i] = child_ends[i];
            }
            }
        }
        if (e >= 0) {
            const endpoint name = message_name("the process ", command_[0]);
            os::child made;
            os::spawn_step failed{};
            e = os::spawn_child(plan, made, failed);
            switch (failed) {
            case os::spawn_step::pidfd: failed_ = os::is_not_supported(e) ? "without pidfds" : "with a pidfd"; break;
            case os::spawn_step::directory: failed_ = in_the_directory; break;
            case os::spawn_step::stream: failed_ = "with its standard streams"; break;
            case os::spawn_step::program: failed_ = ""; break;
            }
            if (e >= 0) {
                made_.get().pid = made.pid;
                keep_child(made_.get(), made.descriptor, name);
            }
        }
    } catch (const std::bad_alloc&) {
        e = os::out_of_memory();
    }
    for (const int end : child_ends) {
        if (end >= 0) os::close_descriptor(end);
    }
    return e;
}

std::string spawn_awaiter::text() const {
    std::string text = command_[0];
    if (*failed_ != '\0') text += std::string(" ") + failed_;
    if (failed_ == in_the_directory) text += " " + options_.directory;
    if (*failed_ == '\0' && error() == std::errc::no_such_file_or_directory &&
        command_[0].find(' ') != std::string::npos)
        text += " (the whole of this is the name of the program; its arguments are words of their own)";
    return text;
}

process spawn_awaiter::take() {
    process p;
    p.input_ = child_writer(std::move(streams_[0]));
    p.output_ = child_reader(std::move(streams_[1]));
    p.error_ = child_reader(std::move(streams_[2]));
    p.child_ = std::move(made_);
    return p;
}
process spawn_awaiter::await_resume() {
    done();
    if (result_ < 0) fail(text());
    return take();
}
io_result<process> spawn_awaiter::resume_with_result() {
    done_with_result();
    if (result_ < 0) return error();
    return take();
}

}  // namespace detail

// --- handles ---------------------------------------------------------------------------------------------------------

std::string exit_status::to_string() const {
    return is_signal_ ? "was ended by signal " + std::to_string(number_) : "exited with " + std::to_string(number_);
}

bool process::kill(int signal) {
    detail::child_state& s = child_.get();
    const int e = detail::send_signal(s, signal);
    if (e >= 0) return true;
    if (e == detail::os::gone()) return false;
    detail::throw_io_error(e, "send a signal to", s.pidfd.peer());
}

call<exit_status> process::terminate(environment&, std::chrono::nanoseconds grace) {
    {
        detail::child_state& s = child_.get();
        const detail::adaptive_guard guard(s.end_lock);
        s.ends_group = s.leads_group;
    }
    (void)kill(SIGTERM);
    if (const auto end = co_await timeout(wait(), grace)) co_return *end;
    (void)kill(SIGKILL);
    co_return co_await wait();
}

}  // namespace coflux
