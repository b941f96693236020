"""C++ statements as the source of one library: each a coroutine that sets up once and runs blocks.

As in Python, the variables of the setup must outlive a block and be plain names in the statement;
a coroutine is C++'s generator. A `#line` names each piece of a user's text, so that a compiler's
message points at the user's line.
"""

import hashlib
import json
import re

#: The operations of the library; `loop.py` sends them. The clock is read only when requested: its
#: cost varies from one reading to the next.
RUN, NOTHING, TIMED = 1, 2, 4

RUNTIME = r"""
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace opbench {
struct Session {
  struct promise_type {
    int op = 0;
    int64_t n = 0;
    int64_t nanoseconds = 0;
    std::string error;
    Session get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {
      try {
        throw;
      } catch (const std::exception& e) {
        error = e.what();
      } catch (...) {
        error = "it threw something that is no std::exception";
      }
      if (error.empty()) error = "an exception without a message";
    }
  };
  std::coroutine_handle<promise_type> handle;
};
struct Next {
  Session::promise_type* promise = nullptr;
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<Session::promise_type> h) { promise = &h.promise(); }
  Session::promise_type& await_resume() { return *promise; }
};
struct Done {
  explicit Done(Session::promise_type&) {}
};
inline int64_t clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace opbench

#define OPBENCH_SHARED extern "C" __attribute__((weak, used, visibility("default")))
OPBENCH_SHARED int64_t opbench_send(void* session, int op, int64_t n) {
  auto handle = std::coroutine_handle<opbench::Session::promise_type>::from_address(session);
  auto& promise = handle.promise();
  promise.op = op;
  promise.n = n;
  handle.resume();
  return handle.done() ? -1 : promise.nanoseconds;
}
OPBENCH_SHARED const char* opbench_error(void* session) {
  auto handle = std::coroutine_handle<opbench::Session::promise_type>::from_address(session);
  return handle.promise().error.c_str();
}
OPBENCH_SHARED void opbench_close(void* session) {
  std::coroutine_handle<opbench::Session::promise_type>::from_address(session).destroy();
}
"""

#: The empty assembly keeps the compiler from removing a loop, or from lifting loads out of it. The
#: statement is in a function of its own, inlined again, because GCC forgets `volatile` of variables
#: that it moves into the frame of a coroutine; a `return` in a statement is no way out of that.
STATEMENT = """
static opbench::Session session_{key}(std::string model_path) {{
#line 1 "{key}/setup"
{setup}
#line 1 "{key}/loop"
for (;;) {{
auto& opbench_now = co_await opbench::Next{{}};
const bool opbench_timed = opbench_now.op & {timed};
const int64_t opbench_began = opbench_timed ? opbench::clock() : 0;
if (opbench_now.op & {run}) {{
[&](const int64_t opbench_n) __attribute__((always_inline)) -> opbench::Done {{
for (int64_t opbench_i = 0; opbench_i < opbench_n; ++opbench_i) {{
asm volatile("" ::: "memory");
#line 1 "{key}/stmt"
{stmt}
#line 11 "{key}/loop"
}}
return opbench::Done{{opbench_now}};
}}(opbench_now.n);
}} else {{
[](const int64_t opbench_n) __attribute__((always_inline)) {{
for (int64_t opbench_i = 0; opbench_i < opbench_n; ++opbench_i) asm volatile("" ::: "memory");
}}(opbench_now.n);
}}
opbench_now.nanoseconds = opbench_timed ? opbench::clock() - opbench_began : 0;
}}
}}
extern "C" __attribute__((visibility("default"))) void* opbench_{key}(const char* model_path) {{
  return session_{key}(model_path).handle.address();
}}
"""

TORCH_NAMES = re.compile(r"\b(torch|at|c10)\b")
#: Declared only by the whole of torch's C++ API, which takes some ten seconds more to compile.
API_NAMES = re.compile(r"\btorch::(nn|optim|data|serialize|save|load|autograd|fft|special)\b")
HEADERS = {"none": (), "tensor": ("torch/utils.h",), "all": ("torch/torch.h",)}


def key_of(case):
    """Twenty hex digits over what is compiled, and how; threads and seed are left out."""
    text = "\0".join(case.get(name) or "" for name in ("globals", "setup", "stmt"))
    if case.get("cpp_build"):
        text += "\0" + json.dumps(case["cpp_build"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def tier_of(case):
    """The smallest set of torch's headers that the text seems to need."""
    text = "\n".join(case.get(name) or "" for name in ("globals", "setup", "stmt"))
    if API_NAMES.search(text):
        return "all"
    return "tensor" if TORCH_NAMES.search(text) else "none"


def unit(cases, tier):
    """The text of one translation unit; all its cases have the same global setup."""
    headers = "".join("#include <%s>\n" % header for header in HEADERS[tier])
    globals_ = cases[0].get("globals") or ""
    text = '%s%s\n#line 1 "globals"\n%s\n' % (headers, RUNTIME, globals_)
    for case in cases:
        text += STATEMENT.format(
            key=key_of(case),
            setup=case.get("setup") or "",
            stmt=case["stmt"],
            run=RUN,
            timed=TIMED,
        )
    return text


def unbalanced(source):
    """(line, message) of a bracket that does not match: an open one would swallow the rest."""
    pairs = {")": "(", "]": "[", "}": "{"}
    opened = []
    bare = re.sub(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'',
        lambda match: "\n" * match.group().count("\n"),
        source,
        flags=re.DOTALL,
    )
    for number, line in enumerate(bare.splitlines(), 1):
        for character in line:
            if character in "([{":
                opened.append((character, number))
            elif character in pairs:
                if not opened or opened[-1][0] != pairs[character]:
                    return number, "'%s' closes nothing" % character
                opened.pop()
    if opened:
        character, number = opened[-1]
        return number, "'%s' is never closed" % character
    return None
