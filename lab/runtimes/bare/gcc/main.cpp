// The hand-written coroutines and the threads of two workloads, compiled by g++.
#include "coroutine_steps.hpp"
#include "harness.hpp"
#include "seed_work.hpp"

namespace lab {

harness::measured fib_tasks(const harness::request& r);
harness::measured coroutine_costs(const harness::request& r);

}  // namespace lab

namespace lab_std {

harness::measured fib_tasks(const harness::request& r);
harness::measured coroutine_costs(const harness::request& r);

}  // namespace lab_std

namespace {

harness::measured fib_tasks(const harness::request& r) {
    const std::string shape = harness::shape_of(r);
    return shape == "thread" || shape == "held_thread" ? lab_std::fib_tasks(r) : lab::fib_tasks(r);
}

harness::measured coroutine_costs(const harness::request& r) {
    return harness::step_of(r) == "thread" ? lab_std::coroutine_costs(r) : lab::coroutine_costs(r);
}

}  // namespace

int main(int argc, char** argv) {
    harness::app app{"bare_gcc", "none", "malloc"};
    app.add("fib_tasks", fib_tasks, "one thread, but for the threads");
    app.add("coroutine_costs", coroutine_costs, "frames from the heap, or from one free list");
    return app.main(argc, argv);
}
