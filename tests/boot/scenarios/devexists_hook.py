# SPDX-License-Identifier: MIT
"""The image waits for /dev/vda3, as dracut makes it with --add-device or a persistent policy by name."""
from lab.tree import Tree


def change(tree: Tree) -> None:
    with tree.opened_image() as top:
        hooks = next(path for path in (top / "var/lib/dracut/hooks", top / "usr/lib/dracut/hooks") if path.is_dir())
        finished = hooks / "initqueue/finished"
        finished.mkdir(parents=True, exist_ok=True)
        hook = finished / "devexists-\\x2fdev\\x2fvda3.sh"
        hook.write_text('[ -e "/dev/vda3" ]\n')
        hook.chmod(0o755)
