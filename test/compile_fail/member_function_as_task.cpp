// expect: a fork or task that is a member function borrows *this: make it a call, or a static function that takes the object by value, std::shared_ptr or coflux::borrowed, or put `using outlives_its_coroutines = void;` into the class
#include <memory>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

struct job {
    std::string name;
    using task = coflux::task<std::size_t, coflux::noop_executor>;
#ifdef COFLUX_GOOD
    static task run_copy(coflux::environment&, job self) { co_return self.name.size(); }
    static task run_shared(coflux::environment&, std::shared_ptr<const job> self) { co_return self->name.size(); }
    static task run_borrowed(coflux::environment&, coflux::borrowed<const job> self) { co_return self->name.size(); }
#else
    task run(auto&&) const { co_return name.size(); }
#endif
};

job::task start(coflux::environment& env, job j) {
#ifdef COFLUX_GOOD
    return job::run_copy(env, std::move(j));
#else
    return j.run(env);
#endif
}
