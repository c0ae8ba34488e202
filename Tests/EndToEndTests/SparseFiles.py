"""The bytes of the binary files of sparse records, for the readers SparsePCReader, LibSVMBinaryReader and DSSMReader.

A row is a list of (place, value). A record is (row of the first feature, row of the second one, label). Values have the type real:
"f" or "d".
"""
import struct


def packed(row, real):
    """Returns the values and the places of a row."""
    return struct.pack("<%d%s" % (len(row), real), *[value for _, value in row]) + \
        struct.pack("<%di" % len(row), *[place for place, _ in row])


def sparse_pc(records, real, code=None):
    """Features come in the reverse order of their names, so the second one is first. The code ends each record."""
    data = []
    for first, second, label in records:
        for row in (second, first):
            data.append(struct.pack("<i", len(row)) + packed(row, real))
        data.append(struct.pack("<" + real, label) + (b"" if code is None else struct.pack("<i", code)))
    return b"".join(data)


def lib_svm(records, real, streams, size):
    """Streams are (name, dimension) of the two features and of the label; size is the number of records of a small batch."""
    batches = []
    for batch in (records[i:i + size] for i in range(0, len(records), size)):
        parts = [struct.pack("<i", len(batch))]
        for feature in (0, 1):
            rows = [record[feature] for record in batch]
            flat = [pair for row in rows for pair in row]
            starts = [sum(map(len, rows[:i])) for i in range(len(rows) + 1)]
            parts += [struct.pack("<i", len(flat)), packed(flat, real), struct.pack("<%di" % len(starts), *starts)]
        parts.append(struct.pack("<%d%s" % (len(batch), real), *[record[2] for record in batch]))
        batches.append(b"".join(parts))
    header = struct.pack("<qqii", len(records), len(batches), 2, 1)
    for name, dim in streams:
        header += struct.pack("<i", len(name)) + name.encode() + struct.pack("<i", dim)
    return header + offsets_of(batches) + b"".join(batches)


def dssm(rows, dim):
    data = [struct.pack("<i", len(row)) + packed(row, "f") for row in rows]
    return struct.pack("<qiq", len(rows), dim, sum(map(len, rows))) + offsets_of(data) + b"".join(data)


def offsets_of(parts):
    return struct.pack("<%dq" % len(parts), *[sum(map(len, parts[:i])) for i in range(len(parts))])
