# SPDX-License-Identifier: MIT
"""The script in packaging/kickstart/post.ks, as an installer would run it."""

from __future__ import annotations

import re
from pathlib import Path

SNIPPET = Path(__file__).resolve().parents[2] / "packaging/kickstart/post.ks"
LOG = "var/log/nvme-preflight-kickstart.log"


def post(choice: str) -> str:
    """The script of %post, with the administrator's choice of what a failure means ("continue" or "fail")."""
    body = re.search(r"^%post [^\n]*\n(.*?)^%end", SNIPPET.read_text(), flags=re.M | re.S)
    assert body and "\nON_FAILURE=continue\n" in body[1]
    return body[1].replace("ON_FAILURE=continue", f"ON_FAILURE={choice}")
