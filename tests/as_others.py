"""Commands as they run elsewhere: by an ordinary user, and by root in a container that allows no namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

USER = 4321
# What Docker leaves to root: among others no SYS_ADMIN, SYS_PTRACE and SYS_RESOURCE.
DOCKER = "chown dac_override fsetid fowner mknod net_raw setgid setuid setfcap setpcap net_bind_service sys_chroot kill"
IN_CONTAINER = ["setpriv", f"--bounding-set=-all,+{',+'.join(DOCKER.split())}", "--inh-caps=-all"]
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all"]


def closed_folder() -> str | None:
    """The folder above Python that other users cannot enter (/root, where pyenv put it there)."""
    above = [*reversed(Path(sys.base_prefix).parents)]
    return next((str(folder) for folder in above if not folder.stat().st_mode & 1), None)


def with_open_python(prefix: list[str]) -> list[str]:
    """The start of a command line that runs the rest with `prefix`, where every user can read Python.

    Only for that command: its mounts are its own. Needs root.
    """
    closed = closed_folder()
    mounts = ['exec "$@"']
    if closed is not None:
        base = sys.base_prefix
        mounts = [f"mount --bind {base} /mnt", f"mount -t tmpfs -o mode=755 tmpfs {closed}", f"mkdir -p {base}"]
        mounts += [f"mount --bind /mnt {base}", "umount /mnt", 'exec "$@"']
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "\n".join(mounts), "sh", *prefix]


def why_not() -> str | None:
    """Why these commands cannot be run here."""
    if os.geteuid() != 0:
        return "only root can become somebody else"
    done = subprocess.run(
        [*with_open_python(IN_CONTAINER), sys.executable, "-c", ""], capture_output=True, text=True, check=False
    )
    return done.stderr.strip() or "it fails" if done.returncode else None
