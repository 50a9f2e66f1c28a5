// Trees of coroutines against a model: each node spawns forks, calls and children of a task_scope, keeps, awaits,
// views, attaches or drops them, waits for an event, throws, stops itself or a child. The model says how each must end:
// a value, an error of its own or of a child that was not observed, or a stop that had a reason; that no value is given
// where a stop from above cut a child off; and that all end, and no frame is left.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include "fuzz/stage.hpp"

namespace {

using coflux_fuzz::hand_executor;
using coflux_fuzz::program;
using coflux_fuzz::root;
using fork = coflux::fork<int, hand_executor>;

enum class act {
    fork,
    call,
    await,
    outcome,
    view,
    both,
    any,
    attach,
    drop,
    event,
    yield,
    stop_child,
    stop_self,
    fail,
    children
};
constexpr std::size_t acts = static_cast<std::size_t>(act::children) + 1;

struct step {
    act what;
    std::size_t argument;
};
enum class ending { none, value, error, stopped };

struct error {
    int of;
};

struct tree;

/// The model's knowledge of one coroutine.
struct node {
    tree* in = nullptr;
    node* parent = nullptr;
    int number = 0;
    std::vector<step> steps;
    std::vector<std::unique_ptr<node>> children;
    std::size_t spawned = 0;

    bool stop_requested = false;  // a stop was requested of it
    bool may_be_stopped = false;  // a stop may be requested of it: it may lose
    bool began = false;
    bool passed_on = false;  // it awaits a child that was stopped, or stops itself
    ending body = ending::none;
    bool observed = false;  // it is awaited, and its awaiter gets its error
    bool cut_off = false;   // a stop from above ended it, and it was not awaited

    [[nodiscard]] bool may_stop() const {
        for (const node* n = this; n != nullptr; n = n->parent) {
            if (n->stop_requested || n->may_be_stopped) return true;
        }
        return false;
    }
    [[nodiscard]] bool must_stop() const {
        for (const node* n = this; n != nullptr; n = n->parent) {
            if (n->stop_requested) return true;
        }
        return false;
    }
};

struct tree {
    explicit tree(program& p) {
        top.in = this;
        grow(top, p, 0);
    }

    void grow(node& n, program& p, std::size_t depth) {
        n.number = ++count;
        for (std::size_t left = p.below(7); left > 0; --left) {
            const step s{static_cast<act>(p.below(acts)), p.byte()};
            n.steps.push_back(s);
            const bool makes = s.what == act::fork || s.what == act::call || s.what == act::children;
            if (!makes || depth == 4 || count >= 24) continue;
            auto child = std::make_unique<node>();
            child->in = this;
            child->parent = &n;
            n.children.push_back(std::move(child));
            grow(*n.children.back(), p, depth + 1);
        }
    }

    int count = 0;
    node top;
    coflux::manual_reset_event events[3];
    bool set[3] = {};
};

/// Among the locals of a node's coroutine, before all others: sees how the body ends.
class witness {
public:
    explicit witness(node& n) noexcept : n_(n) { n.began = true; }
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;
    ~witness() {
        if (n_.body != ending::none) return;
        n_.body = ending::stopped;
        n_.cut_off = !n_.observed && !n_.stop_requested && n_.parent != nullptr && n_.parent->must_stop();
        COFLUX_VERIFY(n_.passed_on || n_.may_stop(), "node %d was stopped for no reason", n_.number);
    }

private:
    node& n_;
};

void check_went_on([[maybe_unused]] const node& n, bool had_to_stop) {
    COFLUX_VERIFY(!had_to_stop, "node %d went on at a stop point", n.number);
}

/// True if `who` is `n` or below it, and threw.
bool failed_below(const node& n, int who) {
    if (n.number == who && n.body == ending::error) return true;
    return std::any_of(n.children.begin(), n.children.end(), [who](const auto& c) { return failed_below(*c, who); });
}
/// Law 12: what ends with a value has no child that failed and that was not awaited.
void check_no_error_is_lost(const node& n) {
    for (const auto& c : n.children)
        COFLUX_VERIFY(c->body != ending::error || c->observed, "the error of node %d is lost", c->number);
}
/// Law 4: nor one that a stop from above cut off.
bool has_cut_off(const node& n) {
    return std::any_of(n.children.begin(), n.children.end(), [](const auto& c) { return c->cut_off; });
}
void check_value(const node& n) {
    check_no_error_is_lost(n);
    COFLUX_VERIFY(!has_cut_off(n), "node %d gives a value, and a child was cut off", n.number);
}

/// The child has ended as its own record says, and what came of it is that.
void check(node& child, ending how, int what) {
    if (how == ending::value) {
        COFLUX_VERIFY(child.body == ending::value && what == child.number, "node %d gives %d", child.number, what);
        check_value(child);
    } else if (how == ending::error) {
        COFLUX_VERIFY(failed_below(child, what), "node %d ends with the error of %d", child.number, what);
        COFLUX_VERIFY(child.body != ending::error || what == child.number, "an error of its own comes first");
    } else {
        COFLUX_VERIFY(child.body == ending::stopped || has_cut_off(child) || (!child.began && child.may_stop()),
                      "node %d is said to be stopped", child.number);
    }
}

struct kept {
    node* who;
    fork handle;
};

coflux::fork<int, hand_executor> forked(coflux::environment&, node* n);
coflux::call<int> body(coflux::environment& here, node* n);

/// A call of a child: it observes its end.
coflux::call<void> awaits_call(coflux::environment&, node* child) {
    auto&& here = co_await coflux::context();
    try {
        const int got = co_await body(here, child);
        check(*child, ending::value, got);
    } catch (const error& e) {
        check(*child, ending::error, e.of);
    }
}

coflux::call<int> body(coflux::environment&, node* n) {
    witness w(*n);
    auto&& here = co_await coflux::context();
    std::vector<kept> handles;
    const auto pick = [&handles](std::size_t choice) -> kept* {
        std::vector<kept*> valid;
        for (kept& k : handles) {
            if (k.handle.valid()) valid.push_back(&k);
        }
        return valid.empty() ? nullptr : valid[choice % valid.size()];
    };
    for (const step& s : n->steps) {
        kept* const k = pick(s.argument);
        switch (s.what) {
        case act::fork: {
            if (n->spawned == n->children.size()) break;
            node* const child = n->children[n->spawned++].get();
            fork f = forked(here, child);
            handles.push_back(kept{child, std::move(f)});
            break;
        }
        case act::call: {
            if (n->spawned == n->children.size()) break;
            node* const child = n->children[n->spawned++].get();
            child->observed = true;
            n->passed_on = true;  // the child may stop itself, or be stopped
            co_await awaits_call(here, child);
            n->passed_on = false;
            break;
        }
        case act::children: {
            if (n->spawned == n->children.size()) break;
            node* const child = n->children[n->spawned++].get();
            child->observed = true;
            n->passed_on = true;
            try {
                coflux::task_scope scope(here);
                scope.spawn(forked, child);
                if (s.argument % 2 == 0) {
                    child->stop_requested = true;
                    scope.request_stop();
                }
                co_await scope.join();
            } catch (const error& e) {
                check(*child, ending::error, e.of);
            }
            n->passed_on = false;
            break;
        }
        case act::await: {
            if (k == nullptr) break;
            node* const child = k->who;
            child->observed = true;
            fork f = std::move(k->handle);
            const bool stops = n->must_stop() && !f.done();
            n->passed_on = true;
            try {
                const int got = co_await std::move(f);
                check(*child, ending::value, got);
            } catch (const error& e) {
                check(*child, ending::error, e.of);
            }
            check_went_on(*n, stops);
            n->passed_on = false;
            break;
        }
        case act::outcome: {
            if (k == nullptr) break;
            node* const child = k->who;
            child->observed = true;
            fork f = std::move(k->handle);
            const bool stops = n->must_stop() && !f.done();
            auto o = co_await coflux::as_outcome(std::move(f));
            check_went_on(*n, stops);
            if (o.has_value()) {
                const int got = std::move(o).value();
                check(*child, ending::value, got);
            } else if (o.is_stopped()) {
                check(*child, ending::stopped, 0);
            } else {
                try {
                    std::rethrow_exception(o.error());
                } catch (const error& e) {
                    check(*child, ending::error, e.of);
                }
            }
            break;
        }
        case act::view: {
            if (k == nullptr) break;
            node* const child = k->who;
            child->observed = true;
            auto view = k->handle.view();
            const bool stops = n->must_stop() && !k->handle.done();
            n->passed_on = true;
            try {
                const int got = co_await view;
                check(*child, ending::value, got);
            } catch (const error& e) {
                check(*child, ending::error, e.of);
            }
            check_went_on(*n, stops);
            n->passed_on = false;
            break;
        }
        case act::both: {
            kept* const second = pick(s.argument / 16);
            if (k == nullptr || second == k) break;
            node* const one = k->who;
            node* const two = second->who;
            one->observed = two->observed = true;
            fork f = std::move(k->handle);
            fork g = std::move(second->handle);
            const bool stops = n->must_stop() && !(f.done() && g.done());
            n->passed_on = true;
            try {
                auto [a, b] = co_await coflux::when_all(std::move(f), std::move(g));
                check(*one, ending::value, a);
                check(*two, ending::value, b);
            } catch (const error&) {}
            check_went_on(*n, stops);
            n->passed_on = false;
            break;
        }
        case act::any: {
            kept* const second = pick(s.argument / 16);
            if (k == nullptr || second == k) break;
            node* const one = k->who;
            node* const two = second->who;
            one->observed = two->observed = true;
            fork f = std::move(k->handle);
            fork g = std::move(second->handle);
            const bool done = f.done() || g.done();
            const bool stops = n->must_stop() && !done;
            one->may_be_stopped = two->may_be_stopped = true;  // whichever loses
            n->passed_on = true;
            try {
                auto got = co_await coflux::when_any(std::move(f), std::move(g));
                COFLUX_VERIFY(got.index() < 2, "case %zu", got.index());
            } catch (const error&) {}
            check_went_on(*n, stops && !(one->body == ending::value || two->body == ending::value));
            n->passed_on = false;
            break;
        }
        case act::attach:
            if (k == nullptr) break;
            std::move(k->handle).attach();
            break;
        case act::drop:
            if (k != nullptr) k->handle = fork();
            break;
        case act::event: {
            const std::size_t e = s.argument % 3;
            const bool stops = n->must_stop() && !n->in->set[e];
            co_await n->in->events[e].wait();
            check_went_on(*n, stops);
            break;
        }
        case act::yield: {
            const bool stops = n->must_stop();
            co_await coflux::yield();
            check_went_on(*n, stops);
            break;
        }
        case act::stop_child:
            if (k == nullptr) break;
            k->who->stop_requested = true;
            k->handle.request_stop();
            break;
        case act::stop_self:
            n->passed_on = true;
            co_await coflux::this_coroutine::stop();
            COFLUX_VERIFY(false, "went on after stop()");
            break;
        case act::fail:
            if (s.argument % 4 != 0) break;
            n->body = ending::error;
            throw error{n->number};
        }
    }
    n->body = ending::value;
    co_return n->number;
}

coflux::fork<int, hand_executor> forked(coflux::environment&, node* n) {
    auto&& here = co_await coflux::context();
    n->passed_on = true;  // a stop of what is awaited here is its own
    const int got = co_await body(here, n);
    co_return got;
}
root starts(coflux::environment&, node* n) {
    auto&& here = co_await coflux::context();
    n->passed_on = true;
    const int got = co_await body(here, n);
    COFLUX_VERIFY(got == n->number, "the root gives %d", got);
}

void check_ended(const node& n) {
    COFLUX_VERIFY(!n.began || n.body != ending::none, "node %d began and has not ended", n.number);
    for (const auto& c : n.children) check_ended(*c);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    program p(bytes, size);
    coflux_fuzz::stage on;
    tree t(p);
    ending how = ending::none;
    int who = 0;
    {
        root r = starts(on.env, &t.top);
        r.on_value([&how] { how = ending::value; });
        r.on_stopped([&how] { how = ending::stopped; });
        r.on_error([&how, &who](const std::exception_ptr& e) {
            how = ending::error;
            try {
                std::rethrow_exception(e);
            } catch (const error& of) {
                who = of.of;
            }
        });
        for (int i = 0; i < 200 && !p.ended(); ++i) {
            switch (p.below(4)) {
            case 0: {
                const std::size_t e = p.below(3);
                t.set[e] = true;
                t.events[e].set();
                break;
            }
            case 1:
                if (p.below(8) != 0 || r.done()) break;
                t.top.stop_requested = true;
                r.request_stop();
                break;
            default: on.executor.run_one(p.byte()); break;
            }
        }
        for (std::size_t e = 0; e < 3; ++e) {
            t.set[e] = true;
            t.events[e].set();
        }
        on.executor.run_all();
        COFLUX_VERIFY(r.done(), "nothing is runnable and the root has not ended");
        check_ended(t.top);
        COFLUX_VERIFY(how != ending::none, "no callback of the root was called");
        if (how == ending::error)
            COFLUX_VERIFY(failed_below(t.top, who), "the root ends with an error that no child had");
        if (how == ending::value) {
            COFLUX_VERIFY(t.top.body == ending::value, "the root");
            check_value(t.top);
        }
        if (how != ending::error) COFLUX_VERIFY(t.top.body != ending::error, "the root's own error was lost");
    }
    return 0;
}
