// Run-length encoding for Python: rle.compress("aaab") is "a3b1".
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <sstream>
#include <string>

static std::string compress(const char *text, Py_ssize_t size) {
  std::string out;
  for (Py_ssize_t at = 0; at < size;) {
    Py_ssize_t length = 1;
    while (at + length < size && text[at + length] == text[at]) ++length;
    out += text[at];
    out += std::to_string(length);
    at += length;
  }
  return out;
}

static PyObject *compress_py(PyObject *, PyObject *text) {
  Py_ssize_t size;
  const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (!bytes) return nullptr;
  std::string packed = compress(bytes, size);
  return PyUnicode_FromStringAndSize(packed.data(), packed.size());
}

static PyMethodDef methods[] = {
    {"compress", compress_py, METH_O, "Each character and how often it repeats."},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "rle", nullptr, -1, methods,
                             nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_rle() { return PyModule_Create(&module); }
