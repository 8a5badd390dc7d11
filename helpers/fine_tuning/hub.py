"""The Hugging Face hub: is it needed, and does it answer?

Asked once and quickly. Its own library would ask for up to a minute, aloud.

`settle` runs before that library is imported, because the library reads HF_HUB_OFFLINE then. Offline it still finds
what is in its cache.
"""

from __future__ import annotations

import functools
import os
import threading
import urllib.error
import urllib.request

from helpers.kit.scale import graded, scale

SECONDS = 5.0  # a hub that needs longer would make everything else too slow


def local_only() -> bool:
    """Is everything on this machine? Then nobody need wait for a server that may not be there."""
    if graded():
        return True
    named = [os.environ.get("COURSE_MODEL", ""), os.environ.get("COURSE_SST2", "")]
    return scale() != "gpu" and all(not name or os.path.isdir(os.path.expanduser(name)) for name in named)


@functools.cache
def answers() -> bool:
    """Does the hub (or $HF_ENDPOINT) say anything within a few seconds? Any reply counts, through a proxy, too."""
    heard: list[bool] = []

    def ask() -> None:
        request = urllib.request.Request(os.environ.get("HF_ENDPOINT") or "https://huggingface.co", method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=SECONDS).close()
        except urllib.error.HTTPError:
            pass  # a refusal is a reply
        except (OSError, ValueError):
            return
        heard.append(True)

    asking = threading.Thread(target=ask, daemon=True)  # the look-up of a name has no time limit of its own
    asking.start()
    asking.join(SECONDS)
    return bool(heard)


def settle() -> None:
    """Tell the hub's library to stay offline, where nothing is needed from the hub or the hub does not answer."""
    if "HF_HUB_OFFLINE" not in os.environ and (local_only() or not answers()):
        os.environ["HF_HUB_OFFLINE"] = "1"
