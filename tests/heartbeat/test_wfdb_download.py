"""`load mitbih --download` from a server on loopback: resumed, checked by digest, missing files said."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from wfdb_files import counts, write_record

import cli
from warehouse.errors import InputError, UsageError
from warehouse.home import Home
from warehouse.load import download
from warehouse.load.mitbih import load


class Handler(BaseHTTPRequestHandler):
    """Serves ``server.folder`` with ranges; a file named in ``server.cut`` breaks off half-way so many times."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.removeprefix("/1.0.0/")
        path, asked = self.server.folder / name, self.headers.get("Range")
        self.server.seen.append((name, asked))
        if not path.is_file():
            return self._send(404, b"")
        body = path.read_bytes()
        begin = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if begin > len(body):
            return self._send(416, b"")
        head = {"Content-Range": f"bytes {begin}-{len(body) - 1}/{len(body)}"} if asked else {}
        cut = self.server.cut.get(name, 0)
        self.server.cut[name] = cut - 1
        self._send(206 if asked else 200, body[begin:], head, cut > 0)

    def _send(self, status, body, head=(), cut=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in dict(head).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "BACKOFF_S", 0.001)
    folder = tmp_path / "served"
    for name in ("100", "101"):
        write_record(folder, name, counts(int(name)))
    (folder / "RECORDS").write_text("100\n101\n")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.folder, httpd.seen, httpd.cut = folder, [], {}
    httpd.url = f"http://127.0.0.1:{httpd.server_port}/1.0.0/"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield httpd
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def with_digests(folder: Path) -> None:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()} {name}\n" for name in names]
    (folder / "SHA256SUMS.txt").write_text("".join(lines))


def fetched(server, tmp_path, **options):
    home = Home(tmp_path / "data")
    return load(home, tmp_path / "release", download=True, base_url=server.url, workers=1, **options), home


def same_files(server, tmp_path) -> bool:
    here = {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()}
    return here == {path.name: path.read_bytes() for path in server.folder.iterdir()}


@pytest.mark.parametrize("digests", [True, False])
def test_a_release_is_fetched_whole_and_loaded(server, tmp_path, digests):
    if digests:
        with_digests(server.folder)
    report, _ = fetched(server, tmp_path)
    assert report.problems == []
    assert same_files(server, tmp_path)
    assert report.tables["record"]["rows"] == 2
    assert ("digests held" if digests else "the server has no digests") in report.notes[0]


def test_what_is_there_and_whole_is_not_fetched_again(server, tmp_path):
    with_digests(server.folder)
    fetched(server, tmp_path)
    data = tmp_path / "release" / "101.dat"
    data.write_bytes(data.read_bytes()[:-1] + b"x")
    server.seen.clear()
    report, _ = fetched(server, tmp_path)
    assert [name for name, _ in server.seen] == ["101.dat"]
    assert report.problems == []
    assert same_files(server, tmp_path)


def test_a_broken_line_is_taken_up_where_it_broke(server, tmp_path):
    with_digests(server.folder)
    server.cut["100.dat"] = 2
    report, _ = fetched(server, tmp_path)
    asked = [asked for name, asked in server.seen if name == "100.dat"]
    assert asked == [None, "bytes=3600-", "bytes=5400-"]
    assert report.problems == []
    assert same_files(server, tmp_path)


def test_a_damaged_part_is_begun_again(server, tmp_path):
    with_digests(server.folder)
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "100.dat.part").write_bytes(b"x" * 100)
    report, _ = fetched(server, tmp_path)
    assert [asked for name, asked in server.seen if name == "100.dat"] == ["bytes=100-", None]
    assert report.problems == []
    assert same_files(server, tmp_path)


def test_a_missing_file_is_said_and_the_rest_is_loaded(server, tmp_path):
    (server.folder / "101.dat").unlink()
    report, _ = fetched(server, tmp_path)
    assert [str(problem) for problem in report.problems] == [
        f"101.dat: found HTTP 404; expected a file of the release at {server.url}101.dat",
        "record 101, 101.dat: found no such file; expected the file that the header names; leads lost: MLII, V1",
    ]
    assert report.tables["signal"]["rows"] == 2
    assert "only files that are not there are fetched" in report.next_step
    write_record(server.folder, "101", counts(101))
    again, _ = fetched(server, tmp_path)
    assert again.problems == []
    assert again.tables["signal"]["rows"] == 4


def test_segments_and_folders_are_followed(server, tmp_path):
    folder = server.folder / "patient7"
    write_record(folder, "300a", counts(1), beats=())
    write_record(folder, "300b", counts(2), beats=())
    (folder / "300.hea").write_text("300/2 2 360 3600\n300a 1800\n300b 1800\n")
    (folder / "300.atr").write_bytes((server.folder / "100.atr").read_bytes())
    (server.folder / "RECORDS").write_text("100\npatient7/300\n")
    report, _ = fetched(server, tmp_path)
    assert report.problems == []
    assert report.tables["record"]["rows"] == 2
    assert (tmp_path / "release" / "patient7" / "300b.dat").is_file()


def test_a_name_that_leaves_the_folder_is_refused(server, tmp_path):
    (server.folder / "RECORDS").write_text("100\n../../etc/100\n")
    with pytest.raises(InputError, match="expected a name below the folder"):
        fetched(server, tmp_path)
    assert not (tmp_path / "data" / "raw" / "mitbih").exists()


def test_without_a_list_of_records_nothing_is_fetched(server, tmp_path):
    (server.folder / "RECORDS").unlink()
    with pytest.raises(InputError, match=r"HTTP 404; expected the release's list of records"):
        fetched(server, tmp_path)


def test_an_address_without_download_is_wrong_usage(server, tmp_path):
    with pytest.raises(UsageError, match="without --download"):
        load(Home(tmp_path / "data"), server.folder, base_url=server.url)


def test_by_the_command_line(server, tmp_path):
    release, data = str(tmp_path / "release"), str(tmp_path / "data")
    done = CliRunner().invoke(
        cli.main, ["load", "mitbih", release, "--download", "--base-url", server.url, "--data", data]
    )
    assert done.exit_code == 0, done.output
    assert "download: 7 files from" in done.output
