"""Conan 2 recipe: `conan create .`"""

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Coflux(ConanFile):
    name = "coflux"
    version = "0.1.0"
    license = "MIT"
    description = "C++20 structured-concurrency coroutine runtime"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "src/*", "LICENSE"

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COFLUX_BUILD_TESTS"] = False
        toolchain.cache_variables["COFLUX_BUILD_EXAMPLES"] = False
        toolchain.cache_variables["COFLUX_WITH_TLS"] = "OFF"
        toolchain.cache_variables["COFLUX_WITH_KAFKA"] = "OFF"
        toolchain.cache_variables["COFLUX_WITH_ROCKSDB"] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, self.package_folder + "/licenses")
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "coflux")
        self.cpp_info.set_property("cmake_target_name", "coflux::coflux")
        self.cpp_info.set_property("pkg_config_name", "coflux")
        core = self.cpp_info.components["core"]
        core.set_property("cmake_target_name", "coflux::core")
        core.libs = ["coflux_core"]
        if "clang" in str(self.settings.compiler):
            core.cxxflags = ["-fcoro-aligned-allocation"]
        if self.options.shared:
            core.defines = ["COFLUX_SHARED_LIBRARIES"]
        runtime = self.cpp_info.components["runtime"]
        runtime.set_property("cmake_target_name", "coflux::runtime")
        runtime.libs = ["coflux_runtime"]
        runtime.requires = ["core"]
        runtime.system_libs = ["pthread"]
        io = self.cpp_info.components["io"]
        io.set_property("cmake_target_name", "coflux::io")
        io.libs = ["coflux_io"]
        io.requires = ["runtime"]
        testing = self.cpp_info.components["testing"]
        testing.set_property("cmake_target_name", "coflux::testing")
        testing.set_property("pkg_config_name", "coflux-testing")
        testing.libs = ["coflux_testing"]
        testing.requires = ["runtime"]
        network = self.cpp_info.components["testing_network"]
        network.set_property("cmake_target_name", "coflux::testing_network")
        network.libs = ["coflux_testing_network"]
        network.requires = ["testing", "io"]
