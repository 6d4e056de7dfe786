"""Kernels inside wheels: what `[tool.whorl]` asks for becomes a bundle in a package.

    configuration     the table `[tool.whorl]` of a pyproject.toml
    bundle_builder    kernels and types, recorded calls -> a bundle
    build_process     runs the builder in a process of its own, for build hooks
    bundle_report     how much of an installed bundle fits here, for `whorl doctor`
    c_library         kernels as functions of C, for `whorl export --c`
    hatch_hook        the build hook for hatchling
    setuptools_hook   the same for setuptools

Installed bundles are found by `store/installed_bundles`, and asked by `jit/shipped_lookup`.
"""
