"""Holds feeds against the grammar of Atom with libxml2, reads them with feedparser, and tells what was found.

In: the number of bytes on a line of its own, then the feed; again and again. Out: a line of JSON for each.
"""

import json
import sys
from pathlib import Path

import feedparser
from lxml import etree

GRAMMAR = etree.RelaxNG(etree.parse(Path(__file__).parent / "atom.rng"))
HEADERS = {"content-type": "application/atom+xml; charset=utf-8"}

while True:
    line = sys.stdin.buffer.readline()
    if not line:
        break
    feed = sys.stdin.buffer.read(int(line))
    # What readers do to HTML takes long, and is seen well enough in small feeds.
    is_small = len(feed) < 10_000
    found = feedparser.parse(
        feed, response_headers=HEADERS, sanitize_html=is_small, resolve_relative_uris=is_small
    )
    GRAMMAR.validate(etree.fromstring(feed))
    answer = {
        "broken": [f"line {error.line}: {error.message}" for error in GRAMMAR.error_log],
        "bozo": repr(found.bozo_exception) if found.bozo else None,
        "version": found.version,
        "id": found.feed.get("id"),
        "entries": [
            {
                "id": entry.get("id"),
                "title": entry.get("title"),
                "link": entry.get("link"),
                "updated": entry.get("updated_parsed"),
                "pages": sum(content.value.count("<li>") for content in entry.get("content", [])),
            }
            for entry in found.entries
        ],
    }
    print(json.dumps(answer), flush=True)
