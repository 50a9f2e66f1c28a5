// expect: a fork or task that is a member function borrows *this: make it a call, or a static function that takes the object by value, std::shared_ptr or coflux::borrowed, or put `using outlives_its_coroutines = void;` into the class
#include <coflux/coflux.hpp>

// It has no data, but what derives from it has.
template <typename Derived>
struct session_base {
    coflux::fork<int, coflux::noop_executor> run(coflux::environment&) {
        co_return static_cast<Derived&>(*this).answer();
    }
};
struct session : session_base<session> {
#ifndef COFLUX_GOOD
    int value = 3;
#endif
    int answer() { return 3; }
};

void start(coflux::environment& env, session s) {
    s.run(env).attach();
}
