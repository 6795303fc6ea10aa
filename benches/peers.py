"""Reads a Change List with the readers that Python has, and prints the median seconds of each as JSON.

usage: peers.py NAME FILE ...   where NAME is lxml or resync
"""

import json
import statistics
import sys
import time

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"


def with_lxml(file):
    """Three fields of each entry, each element freed as soon as it was seen."""
    from lxml import etree

    changes = []
    for _, url in etree.iterparse(file, tag=SITEMAP + "url"):
        metadata = url.find(RS + "md")
        changes.append((url.findtext(SITEMAP + "loc"), metadata.get("change"), metadata.get("datetime")))
        url.clear(keep_tail=True)
        while url.getprevious() is not None:
            del url.getparent()[0]
    return len(changes)


def with_resync(file):
    """ResourceSync's own library."""
    from resync.change_list import ChangeList

    changes = ChangeList()
    with open(file, "rb") as stream:
        changes.parse(fh=stream)
    return len(changes)


READERS = {"lxml": with_lxml, "resync": with_resync}
ROUNDS = 5
SECONDS = 10


def main():
    """Measures the reader that is asked for."""
    name, file = sys.argv[1:]
    reader = READERS[name]
    times = []
    # Fewer rounds of a slow reader: its medians vary less, and somebody is waiting.
    while len(times) < ROUNDS and sum(times) < SECONDS:
        start = time.perf_counter()
        entries = reader(file)
        times.append(time.perf_counter() - start)
        if entries == 0:
            sys.exit(f"{name} found nothing")
    print(json.dumps({name: statistics.median(times)}))


main()
