import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class GatedConan(ConanFile):
    name = "gated"
    description = "Gated-MLP layers and models on Eigen: gMLP, aMLP, GAU and FLASH"
    license = "MIT"
    topics = ("deep-learning", "gmlp", "flash", "inference", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._checkout, "include", "gated", "version.hpp"))
        self.version = ".".join(re.findall(r"#define GATED_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        copy(self, "LICENSE", self._checkout, self.export_sources_folder)
        for pattern in ("*.hpp", "*.inl", "*.h"):
            copy(self, pattern, os.path.join(self._checkout, "include"), os.path.join(self.export_sources_folder, "include"))

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("eigen/3.4.0", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()  # header-only: one package for all settings

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "gated")

        layers = self.cpp_info.components["gated"]
        layers.set_property("cmake_target_name", "gated::gated")
        layers.set_property("pkg_config_name", "gated")
        layers.requires = ["eigen::eigen"]
        layers.bindirs = layers.libdirs = []

        io = self.cpp_info.components["io"]
        io.set_property("cmake_target_name", "gated::io")
        io.set_property("pkg_config_name", "gated-io")
        io.requires = ["gated"]
        io.includedirs = io.bindirs = io.libdirs = []
