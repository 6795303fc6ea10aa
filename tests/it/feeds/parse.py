"""Reads feeds with feedparser, and tells what it found.

In: the number of bytes on a line of its own, then the feed; again and again. Out: a line of JSON for each.
"""

import json
import sys

import feedparser

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
    answer = {
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
