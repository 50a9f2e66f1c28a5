// The version of the library; CMake checks that it agrees with the project's.
#pragma once

#define COFLUX_VERSION_MAJOR 0
#define COFLUX_VERSION_MINOR 1
#define COFLUX_VERSION_PATCH 0
#define COFLUX_VERSION "0.1.0"
