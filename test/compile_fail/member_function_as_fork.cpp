// expect: a fork or task that is a member function borrows *this: make it a call, or a static function that takes the object by value, std::shared_ptr or coflux::borrowed, or put `using outlives_its_coroutines = void;` into the class
#include <string>

#include <coflux/coflux.hpp>

class job {
public:
#ifdef COFLUX_GOOD
    using outlives_its_coroutines = void;
#endif
    coflux::fork<std::size_t, coflux::noop_executor> run(coflux::environment&) { co_return name_.size(); }
    coflux::call<std::size_t> part(coflux::environment&) { co_return name_.size(); }

private:
    std::string name_;
};
