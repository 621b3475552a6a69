#!/usr/bin/python
# SPDX-License-Identifier: MIT
"""Runs nvme-preflight on a host and hands back its report."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: nvme_preflight
short_description: Checks or fixes a guest before its disk becomes NVMe
description:
  - Runs C(nvme-preflight --check) or C(nvme-preflight --fix) and returns the JSON report.
  - In check mode a fix is C(--fix --dry-run); with diff mode the edits are shown.
options:
  state: {type: str, choices: [checked, fixed], default: checked, description: What is wanted.}
  program: {type: str, default: nvme-preflight, description: The program's name or path.}
  root: {type: str, default: "", description: A guest tree instead of the host itself.}
  lsblk: {type: str, default: "", description: What lsblk printed in that guest.}
author: nvme-preflight maintainers
"""
EXAMPLES = r"""
- nvme_preflight: {state: fixed}
"""
RETURN = r"""
report: {type: dict, returned: always, description: The report, see report-v1.schema.json.}
"""

import json

from ansible.module_utils.basic import AnsibleModule

# Exit codes: ready, not ready, could not tell (README of nvme-preflight).
READY, VERDICTS = 0, (0, 1, 3)


def command(parameters, check_mode):
    words = [parameters["program"], "--json"]
    for option in ("root", "lsblk"):
        if parameters[option]:
            words += ["--" + option, parameters[option]]
    if parameters["state"] == "checked":
        return words + ["--check"]
    return words + ["--fix"] + (["--dry-run", "--diff"] if check_mode else [])


def blocking(report):
    return sorted({f["check"] for f in report["findings"] if f["status"] in ("fail", "unknown")})


def main():
    module = AnsibleModule(
        argument_spec={"state": {"type": "str", "choices": ["checked", "fixed"], "default": "checked"},
                       "program": {"type": "str", "default": "nvme-preflight"},
                       "root": {"type": "str", "default": ""}, "lsblk": {"type": "str", "default": ""}},
        supports_check_mode=True)
    words = command(module.params, module.check_mode)
    code, out, err = module.run_command(words)
    try:
        report = json.loads(out)
    except ValueError:
        module.fail_json(msg="no report: exit code %d: %s" % (code, err.strip()), cmd=words)
    fix = report.get("fix", {})
    plan = fix.get("plan", [])
    result = {"report": report, "changed": bool(plan) or fix.get("state") == "applied", "exit_code": code}
    if plan:
        result["diff"] = {"prepared": "\n".join(plan) + "\n"}
    unexpected = code not in VERDICTS
    # A plan in check mode is what would make it ready; without one nothing would.
    not_mended = module.params["state"] == "fixed" and code != READY and not plan
    if unexpected or not_mended:
        module.fail_json(msg="%s: %s (exit code %d) %s" % (report["verdict"], " ".join(blocking(report)), code,
                                                           fix.get("message", "")), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
