#!/usr/bin/env python3
"""Types the screens of docs/SHELL.md into a real terminal of 80 columns, and writes the page anew.

    record_page.py PROGRAM PAGE

PROGRAM is the built `forebay`. Each block of the page that starts its shell, or begins with a prompt
of that, is typed line by line and replaced by what the terminal shows. A comment
`<!-- Ctrl-C: SECONDS -->` before a block presses Ctrl-C that long after the block's last line. The
folder is made anew, in the system's folder for temporary files. Needs tmux. Lines of `...` are lost.
The test `page` holds what was recorded against what the shell says.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PROMPTS = ("$ ", "forebay=> ", "forebay*> ")
BEGINS = ("$ forebay sql ", "forebay=> ", "forebay*> ")
TMUX = ["tmux", "-L", "forebay-page"]


def tmux(*words):
    return subprocess.run([*TMUX, *words], check=True, capture_output=True, text=True).stdout


def screen():
    return tmux("capture-pane", "-p", "-S", "-", "-t", "page").rstrip("\n").split("\n")


def wait_for_prompt():
    for _ in range(600):
        time.sleep(0.1)
        lines = screen()
        if lines[-1] + " " in PROMPTS:
            time.sleep(0.2)
            return lines
    raise SystemExit("no prompt came: " + "\n".join(lines))


def type_line(line):
    # A semicolon at the end would be one between two commands of tmux.
    if line.endswith(";"):
        line = line[:-1] + "\\;"
    if line:
        tmux("send-keys", "-t", "page", "-l", "--", line)
    tmux("send-keys", "-t", "page", "Enter")


def typed_lines(block):
    """The lines of a block that a person types, in groups of one prompt."""
    groups, is_open = [], False
    for line in block:
        prompt = next((prompt for prompt in PROMPTS if line.startswith(prompt)), None)
        if prompt is not None:
            groups.append([line[len(prompt):]])
        elif is_open:
            groups[-1].append(line)
        else:
            continue
        last = groups[-1][-1]
        is_command = prompt == "$ " or groups[-1][0].startswith("\\")
        is_open = not (is_command or last.endswith(";") or "\\watch" in last)
    return groups


def record(block, ctrl_c):
    tmux("send-keys", "-t", "page", "C-l")
    time.sleep(0.5)
    tmux("clear-history", "-t", "page")
    groups = typed_lines(block)
    for number, group in enumerate(groups):
        for line in group:
            type_line(line)
        if ctrl_c is not None and number + 1 == len(groups):
            time.sleep(ctrl_c)
            tmux("send-keys", "-t", "page", "C-c")
        lines = wait_for_prompt()
    return [line for line in lines[:-1] if line]


def main():
    program, page = map(os.path.abspath, sys.argv[1:])
    folder = tempfile.mkdtemp()
    os.mkdir(f"{folder}/bin")
    os.symlink(program, f"{folder}/bin/forebay")
    path = f"{folder}/bin:/usr/bin:/bin"
    shell = f"env -i HOME={folder} PATH={path} TERM=screen LANG=C.UTF-8 PS1='$ ' bash --norc"
    tmux("new-session", "-d", "-s", "page", "-x", "80", "-y", "24", "-c", folder, shell)
    wait_for_prompt()
    text = open(page, encoding="utf-8").read()
    ctrl_c, out = None, []
    try:
        for part in re.split(r"(?ms)(^```text\n.*?^```\n|^<!-- Ctrl-C: [0-9.]+ -->\n)", text):
            mark = re.match(r"<!-- Ctrl-C: ([0-9.]+)", part)
            if mark:
                ctrl_c = float(mark[1])
            elif part.startswith("```text\n") and part[8:].startswith(BEGINS):
                lines = record(part.split("\n")[1:-2], ctrl_c)
                part, ctrl_c = "\n".join(["```text", *lines, "```", ""]), None
            out.append(part)
    finally:
        tmux("kill-session", "-t", "page")
        shutil.rmtree(folder)
    open(page, "w", encoding="utf-8").write("".join(out))


main()
