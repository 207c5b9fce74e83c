"""How the process of a submission gives up what it does not need.

Where the system has namespaces, they hold three processes: the judge's child, which waits; the
namespaces' first process, with which all others end, and which runs nothing of a submission; and
the one that does.  It sees no file but those of the libraries and its own.
"""

import ctypes
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

NEW_USER, APART = 1 << 28, 1 << 30 | 1 << 29 | 1 << 27 | 1 << 17
"""Namespaces of users; and of network, processes, shared memory and mounts."""
PRIVATE, BIND, DETACH = 1 << 14 | 1 << 18, 1 << 12 | 1 << 14, 2
MOUNT_SETATTR, HERE, RECURSIVE, READ_ONLY = 442, -100, 0x8000, (1, 0, 0, 0)
DEATH_SIGNAL, DUMPABLE, KEEP_CAPABILITIES, NO_NEW_PRIVILEGES = 1, 4, 8, 38
READ_ALL = 1 << 2  # the capability to read what root can read, such as Python's own files
NOBODY = 65534
SYSTEM = (
    *("/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/alternatives"),
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom"),
)
"""What libraries need of a system, beside the folders of Python."""
PLACES = ("/mnt", "/media", "/srv", "/opt", "/boot", "/var", "/tmp", "/run", "/home")
"""Where the new file system is put together: in the first folder that holds nothing of it."""
OWN, SCRATCH, SCRATCH_BYTES = "/submission", "/scratch", 64 << 20
UNSEEN, UNKEPT = ("use of your files", "sight of other processes"), "changes of files"
VISIBLE = ("tile_envs", "baselines/agents.py")
"""What a submission sees of this project: environments, and the agents that it may build on."""


def confine(memory: int, seconds: int, **seen: Any) -> tuple[str, list[str]]:
    """Give up what a submission does not need; return its folder, and what is not limited here.

    It may take so many bytes beyond those that are taken now, and seconds of CPU time.  `seen` are
    the arguments of `see_only`.
    """
    import resource  # late: Windows has none, where nothing is judged

    libc = ctypes.CDLL(None, use_errno=True)
    prctl = getattr(libc, "prctl", lambda *_: None)
    statm = Path("/proc/self/statm")
    taken = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    prctl(DEATH_SIGNAL, signal.SIGKILL)
    os.umask(0o022)
    uid, gid, user = os.geteuid(), os.getegid(), 1 << 30 | os.getpid()  # that nobody else has
    maps = {"setgroups": "deny", "uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}
    maps = maps if uid else {}  # a namespace of users, which only root does without, has no numbers
    is_apart = hasattr(libc, "unshare") and not libc.unshare(APART | NEW_USER * bool(maps))
    unlimited = ["network", *UNSEEN]
    if is_apart:
        for name, text in maps.items():
            Path("/proc/self", name).write_text(text)
        fork_and_wait()
        unlimited = see_only(libc, **seen)
    sees_only = UNSEEN[0] not in unlimited
    temporary = SCRATCH if sees_only else "/tmp"
    if uid == 0:  # where all is seen, Python's own files may be for root alone
        kept = 0 if sees_only else READ_ALL
        if not (hasattr(libc, "prctl") and become(user, libc, kept)):
            unlimited.append("processes")
    elif is_apart:
        keep_capabilities(libc, 0)  # those of the namespaces, which could undo their mounts
    prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    prctl(DEATH_SIGNAL, signal.SIGKILL)  # anew, since another user loses it
    if is_apart:
        prctl(DUMPABLE, 0)  # or the next process, of the same user, could change this one
        fork_and_wait()
        prctl(DUMPABLE, 1)
    writable = sees_only and UNKEPT not in unlimited
    limits = {"memory": ("AS", taken + memory), "time": ("CPU", seconds), "processes": ("NPROC", 0)}
    limits |= {"files": ("FSIZE", writable * SCRATCH_BYTES), "dumps": ("CORE", 0)}
    for what, (name, most) in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        most = min(most, resource.getrlimit(kind)[1] % (1 << 64))  # where infinity may be -1
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            unlimited.append(what)
    tempfile.tempdir = temporary  # without trying whether files can be written
    os.environ |= {"HOME": temporary, "TMPDIR": temporary, "USER": "nobody"}
    os.chdir("/")
    return OWN if sees_only else seen.get("folder", ""), unlimited


def fork_and_wait() -> None:
    """Go on as a new process, while the one before waits for its end."""
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)


def see_only(
    libc: Any, packages: str, hidden: str = "", folder: str = "", files: Sequence[str] = ()
) -> list[str]:
    """Move to a file system of the libraries and a submission; return what is not limited here.

    All is read-only but `SCRATCH`, which is in memory.  `packages` is the folder of this project's
    packages, `hidden` that of all submissions, `folder` that of this one's files.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    # A prefix itself may be for its owner alone.
    paths = {*SYSTEM, *sys.path, *(os.path.join(prefix, "lib") for prefix in prefixes)}
    paths |= {*map(os.path.realpath, paths)}  # where links of libraries lead
    shown = {path: os.path.realpath(path) for path in paths - {"/"} if os.path.exists(path)}
    own = os.path.join(packages, "baselines")
    clone = packages * os.path.exists(os.path.join(packages, "pyproject.toml"))
    for each in map(os.path.realpath, filter(None, (own, hidden, clone))):  # all are covered
        above = [item for item in shown.items() if item[1] and is_in(each, item[1])]
        shown |= {path + each.removeprefix(source): "" for path, source in above}
    visible = [os.path.join(packages, name) for name in VISIBLE]
    shown |= {path: os.path.realpath(path) for path in visible}
    sources = [*shown.values(), os.path.realpath(packages), os.path.realpath(folder)]
    root = next((each for each in PLACES if not any(is_in(s, each) for s in sources)), "/mnt")

    def mount(source: str, path: str, kind: str = "", flags: int = 0, options: str = "") -> None:
        texts = [os.fsencode(text) or None for text in (source, path, kind, options)]
        if libc.mount(*texts[:3], flags, texts[3]):
            raise OSError(ctypes.get_errno(), f"not mounted: {path}")

    try:
        mount("", "/", flags=PRIVATE)
        mount("tmpfs", root, "tmpfs", options="mode=755")
        for path, source in sorted(shown.items()):  # folders before what is in them
            at, is_file = root + path, source and not os.path.isdir(source)
            os.makedirs(os.path.dirname(at) if is_file else at, exist_ok=True)
            if is_file and not os.path.exists(at):
                Path(at).touch()
            if source:
                mount(source, at, flags=BIND)
            else:
                mount("tmpfs", at, "tmpfs", options="mode=755")
        for name in files:
            at = os.path.join(root + OWN, name)
            os.makedirs(os.path.dirname(at), exist_ok=True)
            shutil.copyfile(os.path.join(folder, name), at)
        os.makedirs(f"{root}/proc")
        os.makedirs(root + SCRATCH)
        with suppress(OSError):
            os.symlink(SCRATCH, f"{root}/tmp")
        with suppress(OSError):  # in some containers; then nothing is seen of processes at all
            mount("proc", f"{root}/proc", "proc")
        attributes = (ctypes.c_uint64 * 4)(*READ_ONLY)
        is_old = libc.syscall(MOUNT_SETATTR, HERE, root.encode(), RECURSIVE, attributes, 32)
        mount("tmpfs", root + SCRATCH, "tmpfs", options=f"size={SCRATCH_BYTES},mode=1777")
        os.chroot(root)
    except OSError:
        libc.umount2(root.encode(), DETACH)
        return [*UNSEEN]
    os.chdir("/")
    return [UNKEPT] * bool(is_old)


def is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def become(user: int, libc: Any, capability: int) -> bool:
    """Become another user, whom limits bind, with one capability of root or none."""
    libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0)
    for uid in (user, NOBODY):  # some containers have no others
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            return any(keep_capabilities(libc, kept) for kept in (capability, 0))
    return False


def keep_capabilities(libc: Any, kept: int) -> bool:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    return bool(libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)) == 0)
