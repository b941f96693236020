from setuptools import Extension, setup

setup(
    name="rle",
    version="1.0",
    ext_modules=[Extension("rle", ["rle.cpp"], language="c++", extra_compile_args=["-O2"])],
)
