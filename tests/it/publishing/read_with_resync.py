"""Prints what the resync library reads of a published folder: read_with_resync.py FOLDER

One line for each Change List of the Capability List, and one for each change.
"""

import pathlib
import sys

from resync.capability_list import CapabilityList
from resync.change_list import ChangeList

folder = pathlib.Path(sys.argv[1])
capabilities = CapabilityList()
capabilities.read(uri=str(folder / "sitebell/capabilitylist.xml"))
for entry in capabilities:
    print(capabilities.capability_name, entry.capability, entry.uri)
for path in sorted((folder / "sitebell").glob("changelist*.xml")):
    if path.name == "changelist-index.xml":
        continue  # The library reads no index of changes.
    changes = ChangeList()
    changes.read(uri=str(path))
    for change in changes:
        print(path.name, change.change, change.uri, change.datetime)
