"""Read every archive file of a folder with warcio and with FastWARC.

Prints one JSON object: the complaints of `warcio check`, of `fastwarc check`
and of this script, and for each reader the responses and revisits it found,
as [URL, SHA-1 of the decoded body in hex], without the digest for a revisit,
which has no body of its own, and for a body that was cut.
warcio does not read zstd: it gets an unpacked copy.
"""

import gzip
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import fastwarc
import zstandard
from warcio.archiveiterator import ArchiveIterator

complaints = []
found = {"warcio": [], "fastwarc": []}


def is_cut(headers):
    return "WARC-Truncated" in headers


def without_chunks(body):
    plain = b""
    while True:
        length, _, body = body.partition(b"\r\n")
        length = int(length, 16)
        if length == 0:
            return plain
        plain += body[:length]
        body = body[length + 2 :]


def sha1(body):
    return hashlib.sha1(body).hexdigest()


def check(program, file):
    """Run a reader's own check."""
    code = f"import sys; from {program}.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "check", str(file)], capture_output=True, text=True
    )
    if done.returncode != 0:
        text = (done.stdout + done.stderr)[-500:]
        complaints.append(f"{program} check {file}: {text}")


def plain_copy(file, folder):
    """The file as warcio can read it."""
    if file.suffix != ".zst":
        return file
    copy = pathlib.Path(folder) / file.with_suffix("").name
    with file.open("rb") as packed, copy.open("wb") as out:
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        while piece := reader.read(1 << 20):
            out.write(piece)
    return copy


def read_with_warcio(file):
    with file.open("rb") as stream:
        for index, record in enumerate(ArchiveIterator(stream)):
            if (record.rec_type == "warcinfo") != (index == 0):
                complaints.append(f"{file}: record {index} is {record.rec_type}")
            if record.rec_type not in ("response", "revisit"):
                continue
            url, digest = record.rec_headers.get_header("WARC-Target-URI"), ""
            if record.rec_type == "response" and not is_cut(dict(record.rec_headers.headers)):
                digest = sha1(record.content_stream().read())
            found["warcio"].append([url, digest])


def read_with_fastwarc(file):
    # Codings are taken off here: FastWARC 1.1.0 stops after a record that has
    # a transfer coding and a content coding, and at a chunk that was cut.
    kinds = fastwarc.WarcRecordType.response | fastwarc.WarcRecordType.revisit
    stream = io.BytesIO(file.read_bytes())
    for record in fastwarc.ArchiveIterator(
        stream, record_types=kinds, parse_http=True, auto_decode="none"
    ):
        url, digest = record.headers["WARC-Target-URI"], ""
        if record.record_type == fastwarc.WarcRecordType.response and not is_cut(record.headers):
            body = record.reader.read()
            if record.http_headers.get("Transfer-Encoding") == "chunked":
                body = without_chunks(body)
            if record.http_headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            digest = sha1(body)
        found["fastwarc"].append([url, digest])


with tempfile.TemporaryDirectory() as folder:
    for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        plain = plain_copy(file, folder)
        check("warcio", plain)
        check("fastwarc", file)
        read_with_warcio(plain)
        read_with_fastwarc(file)
print(json.dumps({"complaints": complaints, **found}))
