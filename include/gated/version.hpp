#pragma once

/// @file
/// The version of gated. CMake reads it from these three lines.

#define GATED_VERSION_MAJOR 0
#define GATED_VERSION_MINOR 2
#define GATED_VERSION_PATCH 0
