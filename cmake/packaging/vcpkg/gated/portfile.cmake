# Header-only: nothing to build, and no difference between debug and release.
set(VCPKG_BUILD_TYPE release)

# Packages the checkout that contains this port. A registry's port calls vcpkg_from_git(OUT_SOURCE_PATH SOURCE_PATH …) instead.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DGATED_BUILD_TESTS=OFF
        -DGATED_BUILD_BENCH=OFF
        -DGATED_BUILD_EXAMPLES=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/gated)
vcpkg_fixup_pkgconfig()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
