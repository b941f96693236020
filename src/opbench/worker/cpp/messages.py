"""What the compiler and the linker say, as the failure of a case at the user's line."""

import re

from .source import unbalanced

ERROR = re.compile(
    r"^(?P<key>[0-9a-f]{20}|globals)(?:/(?P<part>\w+))?:(?P<line>\d+)(?::\d+)?: "
    r"(?:fatal )?error: (?P<text>.*)$"
)
LINKER_ERROR = re.compile(r"cannot find|undefined|multiple definition|not recognized")
MENTION = re.compile(r"\b([0-9a-f]{20})/(setup|stmt|loop):(\d+)")
PARTS = {"setup": "cpp_setup", "stmt": "cpp_stmt", "loop": "cpp_stmt"}


def brackets(case):
    for part in ("globals", "setup", "stmt"):
        wrong = unbalanced(case.get(part) or "")
        if wrong:
            line, text = wrong
            return failure(case, part, line, text, "")
    return None


def blamed(members, output):
    """`{key: failure}` for the cases that the compiler's messages name; None if there are none."""
    found = {}
    for line in output.splitlines():
        match = ERROR.match(line)
        if match and match["key"] in members and match["key"] not in found:
            case = members[match["key"]]
            found[match["key"]] = failure(
                case, match["part"], int(match["line"]), match["text"], output
            )
        elif match and match["key"] == "globals":
            case = next(iter(members.values()))
            same = failure(case, "globals", int(match["line"]), match["text"], output)
            return dict.fromkeys(members, same)
    if not found:
        text = next((x.split("error: ", 1)[1] for x in output.splitlines() if "error: " in x), "")
        for key, part, line in MENTION.findall(output):
            if key in members and key not in found:
                found[key] = failure(members[key], part, int(line), text, output)
    return found or None


def halves(tier, members, output, answers):
    keys = list(members)
    if len(keys) == 1:
        errors = [line for line in output.splitlines() if "error" in line] or [output[-200:]]
        reason = "the compiler failed: %s" % errors[0][:300]
        answers[keys[0]] = {"outcome": "failed", "reason": reason, "output": output[-6000:]}
        return []
    middle = len(keys) // 2
    return [(tier, {k: members[k] for k in part}) for part in (keys[:middle], keys[middle:])]


def failure(case, part, line, text, output):
    """The compiler's message at the user's line."""
    name = {"globals": "global_setup"}.get(part) or PARTS.get(part, part)
    source = (case.get("stmt" if part == "loop" else part) or "").splitlines()
    shown = source[line - 1].strip() if 0 < line <= len(source) else ""
    where = " (at `%s`)" % shown[:120] if shown else ""
    own = [row for row in output.splitlines() if "error" in row or "/%s:" % part in row]
    return {
        "outcome": "failed",
        "reason": ("does not compile: %s line %d: %s%s" % (name, line, text, where))[:500],
        "output": "\n".join(own)[:3000],
    }


def linker_failure(output):
    lines = output.strip().splitlines()
    found = [line for line in lines if LINKER_ERROR.search(line)] or lines[-1:] or ["?"]
    reason = ("the linker failed: %s" % found[0])[:500]
    return {"outcome": "failed", "reason": reason, "output": output[-6000:]}
