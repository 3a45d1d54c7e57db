"""State files taken apart, changed, and written with a correct checksum."""

import hashlib
import io
import json
import zipfile

import numpy as np

import libsvmx
from libsvmx.io.statefile import DESCRIPTION, DIGEST, UNIX
from support import data


def moved(name, options):
    """A state with a history: gaps in the ids, positions out of order."""
    matrix, targets = data.load(name)
    state = libsvmx.train(matrix, targets, keep_state=True, **options)
    rows = memoryview(np.arange(5, dtype=np.int32))
    state.update(add=(matrix.take(rows), targets[:5]), remove=range(0, len(targets), 5))
    return state, matrix, targets


def opened(content):
    """Description and arrays of a state file, read by NumPy."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        names = [name for name in archive.files if name != DESCRIPTION]
        return json.loads(archive[DESCRIPTION]), {name: archive[name] for name in names}


def closed(description, arrays):
    """A state file with these, of any type."""
    members = [(DESCRIPTION, json.dumps(description).encode())]
    for name, values in arrays.items():
        file = io.BytesIO()
        np.lib.format.write_array(file, values, version=(1, 0))
        members.append((f"{name}.npy", file.getvalue()))
    return archived(members)


def members_of(content):
    """Name and bytes of each member."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def archived(members, compression=zipfile.ZIP_STORED):
    """A state file of members, (name, bytes)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            member = zipfile.ZipInfo(name)
            member.create_system, member.compress_type = UNIX, compression
            with archive.open(member, "w") as out:
                out.write(data)
        archive.comment = bytes(DIGEST)
    return signed(file.getvalue())


def signed(content):
    """The same with a correct checksum."""
    return content[:-DIGEST] + hashlib.sha256(content[:-DIGEST]).hexdigest().encode()
