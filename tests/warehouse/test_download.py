"""Fetching .vital files from a server on loopback that drops, truncates, ignores Range and says no."""

from __future__ import annotations

import gzip
import os
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from warehouse.errors import UsageError
from warehouse.load import download
from warehouse.load.download import download_cases

PAYLOAD = os.urandom(300_000)
"""Does not compress, so that the file is long enough to break in the middle."""


def vital_bytes(payload: bytes = PAYLOAD) -> bytes:
    """The least that is a .vital file: a header that says packed, and one packet."""
    header = b"VITA" + bytes(4) + (27).to_bytes(2, "little") + bytes(26) + b"\x01"
    return gzip.compress(header + b"\x63" + len(payload).to_bytes(4, "little") + payload, mtime=0)


WHOLE = vital_bytes()


class Handler(BaseHTTPRequestHandler):
    """Each request of a path takes the next word of its plan; the last one stays."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        plan = self.server.plans.get(self.path, ["ok"])
        word = plan.pop(0) if len(plan) > 1 else plan[0]
        self.server.seen.append((self.path, word, self.headers.get("Range")))
        body, asked = self.server.body, self.headers.get("Range")
        begin = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if word.isdigit():
            return self.answer(int(word), b"no", {"Retry-After": "0"} if word == "503" else {})
        if word == "other":
            body = b"<html>please log in</html>"
        elif word == "truncated":
            body = body[:-1000]
        elif word == "damaged":
            body = body[:5000] + b"\0\0\0\0" + body[5004:]
        if asked and word not in ("no range", "other", "no range drop"):
            if begin >= len(body):
                return self.answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
            shift = 7 if word == "wrong range" else 0
            span = f"bytes {begin + shift}-{len(body) - 1}/{len(body)}"
            sent = body[begin + shift :][: 10_000 if word == "short range" else None]
            return self.answer(206, sent, {"Content-Range": span}, drop=word.endswith("drop"))
        if word.startswith("chunked"):
            return self.chunked(body, whole=word == "chunked")
        return self.answer(200, body, {}, drop=word.endswith("drop"))

    def answer(self, status, body, headers, drop=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: min(100_000, len(body) // 2)] if drop else body)
        if drop:
            self.hang_up()

    def chunked(self, body, whole):
        """No Content-Length; a cut body still ends as if it were whole."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body if whole else body[:120_000])
        self.hang_up()

    def hang_up(self):
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_WR)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "BACKOFF_S", 0.001)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.plans, httpd.seen, httpd.body = {}, [], WHOLE
    httpd.url = f"http://127.0.0.1:{httpd.server_port}/1.0.1"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield httpd
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def plan(server, case_id: int, *words: str) -> None:
    server.plans[f"/1.0.1/{case_id}.vital"] = list(words)


def requests_of(server, case_id: int) -> list[tuple[str, str | None]]:
    return [(word, asked) for path, word, asked in server.seen if path == f"/1.0.1/{case_id}.vital"]


def test_cases_are_fetched_whole_and_no_part_stays(server, tmp_path):
    ticks = []
    report = download_cases([3, 1, 2, 3], tmp_path / "new", base_url=server.url + "/", progress=ticks.append)
    assert (report.fetched, report.present, report.problems) == ([1, 2, 3], [], [])
    assert ticks == [1, 1, 1]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["1.vital", "2.vital", "3.vital"]
    assert all(path.read_bytes() == WHOLE for path in (tmp_path / "new").iterdir())


def test_what_is_there_and_whole_is_not_asked_for_and_what_is_cut_off_is_replaced(server, tmp_path):
    (tmp_path / "1.vital").write_bytes(WHOLE)
    (tmp_path / "2.vital").write_bytes(WHOLE[:-5])
    report = download_cases([1, 2], tmp_path, base_url=server.url)
    assert (report.present, report.fetched) == ([1], [2])
    assert requests_of(server, 1) == []
    assert (tmp_path / "2.vital").read_bytes() == WHOLE


def test_a_dropped_connection_goes_on_where_it_stopped(server, tmp_path):
    plan(server, 1, "drop", "drop", "ok")
    report = download_cases([1], tmp_path, base_url=server.url, retries=1)
    assert report.fetched == [1]
    assert (tmp_path / "1.vital").read_bytes() == WHOLE
    first, second, third = requests_of(server, 1)
    assert first == ("drop", None)
    assert (second, third[0]) == (("drop", "bytes=100000-"), "ok")
    assert 100_000 < int(third[1].removeprefix("bytes=").removesuffix("-")) < len(WHOLE)


def test_a_line_that_always_drops_is_followed_to_the_end_with_few_retries(server, tmp_path):
    """Each attempt brings at most half of what is left; only attempts without a byte count against the limit."""
    plan(server, 1, *["drop"] * 8, "ok")
    assert download_cases([1], tmp_path, base_url=server.url, retries=1).fetched == [1]
    assert (tmp_path / "1.vital").read_bytes() == WHOLE


def test_a_server_that_ignores_range_does_not_corrupt_the_file(server, tmp_path):
    plan(server, 1, "drop", "no range")
    report = download_cases([1], tmp_path, base_url=server.url)
    assert report.fetched == [1]
    assert requests_of(server, 1) == [("drop", None), ("no range", "bytes=100000-")]
    assert (tmp_path / "1.vital").read_bytes() == WHOLE


def test_a_server_that_ignores_range_and_always_drops_is_given_up(server, tmp_path):
    plan(server, 1, "no range drop")
    report = download_cases([1], tmp_path, base_url=server.url, retries=3)
    (problem,) = report.problems
    assert "after 4 attempts" in problem.found
    assert not (tmp_path / "1.vital").exists()
    assert (tmp_path / "1.vital.part").read_bytes() == WHOLE[:100_000]


def test_a_server_that_answers_with_other_bytes_than_asked_is_not_believed(server, tmp_path):
    plan(server, 1, "drop", "wrong range", "ok")
    assert download_cases([1], tmp_path, base_url=server.url).fetched == [1]
    assert (tmp_path / "1.vital").read_bytes() == WHOLE
    assert requests_of(server, 1)[-1] == ("ok", None)


def test_the_answer_that_is_not_believed_is_named(server, tmp_path):
    plan(server, 1, "drop", "wrong range")
    report = download_cases([1], tmp_path, base_url=server.url, retries=0)
    assert "broken connection" in report.problems[0].found
    report = download_cases([1], tmp_path, base_url=server.url, retries=0)
    assert f"bytes 100007-{len(WHOLE) - 1} where 100,000 were there" in report.problems[0].found


def test_a_range_answered_in_pieces_is_put_together(server, tmp_path):
    plan(server, 1, "drop", "short range", "ok")
    assert download_cases([1], tmp_path, base_url=server.url).fetched == [1]
    assert [asked for _, asked in requests_of(server, 1)] == [None, "bytes=100000-", "bytes=110000-"]
    assert (tmp_path / "1.vital").read_bytes() == WHOLE


def test_a_part_of_an_earlier_call_is_resumed(server, tmp_path):
    (tmp_path / "1.vital.part").write_bytes(WHOLE[:200_000])
    assert download_cases([1], tmp_path, base_url=server.url).fetched == [1]
    assert requests_of(server, 1) == [("ok", "bytes=200000-")]
    assert [path.name for path in tmp_path.iterdir()] == ["1.vital"]


def test_a_part_that_is_whole_needs_no_request(server, tmp_path):
    (tmp_path / "1.vital.part").write_bytes(WHOLE)
    assert download_cases([1], tmp_path, base_url=server.url).fetched == [1]
    assert server.seen == []
    assert (tmp_path / "1.vital").read_bytes() == WHOLE


@pytest.mark.parametrize("rubbish", [b"x" * 150_000, b"x" * (len(WHOLE) + 10)], ids=["shorter", "longer"])
def test_a_part_of_another_file_is_thrown_away(server, tmp_path, rubbish):
    (tmp_path / "1.vital.part").write_bytes(rubbish)
    assert download_cases([1], tmp_path, base_url=server.url).fetched == [1]
    assert len(requests_of(server, 1)) == 2
    assert (tmp_path / "1.vital").read_bytes() == WHOLE


@pytest.mark.parametrize("status", ["404", "403", "410"])
def test_a_final_no_is_asked_once_and_costs_only_its_case(server, tmp_path, status):
    plan(server, 2, status)
    report = download_cases([1, 2, 3], tmp_path, base_url=server.url)
    assert report.fetched == [1, 3]
    (problem,) = report.problems
    assert (problem.where, problem.found) == ("case 2", f"HTTP {status}")
    assert problem.expected.endswith("/1.0.1/2.vital")
    assert len(requests_of(server, 2)) == 1


def test_a_busy_server_is_asked_again_and_at_last_given_up(server, tmp_path):
    plan(server, 1, "503", "429", "500", "ok")
    plan(server, 2, "503")
    report = download_cases([1, 2], tmp_path, base_url=server.url, retries=3)
    assert report.fetched == [1]
    assert report.problems[0].found == "HTTP 503, after 4 attempts"
    assert Counter(path for path, _, _ in server.seen) == {"/1.0.1/1.vital": 4, "/1.0.1/2.vital": 4}


@pytest.mark.parametrize(
    ("word", "found"),
    [("truncated", "cut off"), ("damaged", "damaged gzip stream"), ("other", "no gzip stream")],
)
def test_a_file_that_is_bad_on_the_server_never_gets_its_name(server, tmp_path, word, found):
    plan(server, 1, word)
    report = download_cases([1], tmp_path, base_url=server.url, retries=2)
    assert found in report.problems[0].found
    assert len(requests_of(server, 1)) == 3
    assert list(tmp_path.iterdir()) == []


def test_bytes_damaged_once_are_fetched_again_from_the_start(server, tmp_path):
    plan(server, 1, "damaged", "ok")
    assert download_cases([1], tmp_path, base_url=server.url).fetched == [1]
    assert requests_of(server, 1) == [("damaged", None), ("ok", None)]


def test_without_a_length_the_gzip_stream_tells_the_end(server, tmp_path):
    plan(server, 1, "chunked cut", "ok")
    plan(server, 2, "chunked")
    assert download_cases([1, 2], tmp_path, base_url=server.url).fetched == [1, 2]
    assert requests_of(server, 1) == [("chunked cut", None), ("ok", "bytes=120000-")]
    assert (tmp_path / "1.vital").read_bytes() == (tmp_path / "2.vital").read_bytes() == WHOLE


def test_nobody_listens(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "BACKOFF_S", 0.001)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        report = download_cases([1], tmp_path, base_url=url, retries=1)
    assert report.problems[0].found == "no connection (Connection refused), after 2 attempts"


def refused() -> str:
    """The URL of a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_dead_server_is_not_asked_for_every_case(tmp_path, monkeypatch):
    tried = Counter()
    attempt = download._File._attempt

    def counted(case):
        tried[case.wanted.key] += 1
        attempt(case)

    monkeypatch.setattr(download, "BACKOFF_S", 0.001)
    monkeypatch.setattr(download._File, "_attempt", counted)
    url = refused()
    report = download_cases(range(1, 401), tmp_path, base_url=url, workers=2)
    assert report.stopped == "no connection (Connection refused)"
    assert sum(tried.values()) <= 2 * (download.UNANSWERED_RETRIES + 1)
    assert len(report.problems) == 400
    assert report.problems[-1].found == f"not fetched, for nothing comes from {url} ({report.stopped})"
    assert report.problems[-1].expected == f"a .vital file at {url}/400.vital"


def test_what_is_there_counts_though_the_server_is_dead(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "BACKOFF_S", 0.001)
    (tmp_path / "9.vital").write_bytes(WHOLE)
    report = download_cases(range(1, 10), tmp_path, base_url=refused(), workers=1)
    assert (report.present, len(report.problems)) == ([9], 8)


def test_a_server_that_dies_on_the_way_gets_all_retries_once(server, tmp_path, monkeypatch):
    tried = Counter()
    attempt = download._File._attempt

    def dies(case):
        tried[case.wanted.key] += 1
        if case.wanted.key > 2:
            case.url = f"{gone}/{case.wanted.key}.vital"
        attempt(case)

    gone = refused()
    monkeypatch.setattr(download._File, "_attempt", dies)
    report = download_cases(range(1, 30), tmp_path, base_url=server.url, workers=1, retries=4)
    assert report.fetched == [1, 2]
    assert tried == {1: 1, 2: 1, 3: 5}
    assert report.stopped == "no connection (Connection refused)"


def test_a_server_that_has_nothing_is_left_after_a_few_cases(server, tmp_path):
    for case_id in range(1, 301):
        plan(server, case_id, "404")
    report = download_cases(range(1, 301), tmp_path, base_url=server.url, workers=1)
    assert report.stopped == "HTTP 404"
    assert len(report.problems) == 300
    assert download.HOPELESS <= len(server.seen) < 150  # some more are under way before the stop is seen


def test_a_server_that_lacks_the_first_cases_is_followed_where_one_is_there(server, tmp_path):
    (tmp_path / "30.vital").write_bytes(WHOLE)
    for case_id in range(1, 10):
        plan(server, case_id, "404")
    report = download_cases(range(1, 31), tmp_path, base_url=server.url, workers=1)
    assert (len(report.problems), len(report.fetched), report.stopped) == (9, 20, None)


def test_stopping_leaves_parts_that_the_next_call_finishes(server, tmp_path):
    """What Ctrl-C does: an exception in the waiting thread, here from the progress call of a finished case."""
    plan(server, 2, "503")

    def interrupt(_):
        raise KeyboardInterrupt

    (tmp_path / "2.vital.part").write_bytes(WHOLE[:50_000])
    with pytest.raises(KeyboardInterrupt):
        download_cases([1, 2], tmp_path, base_url=server.url, retries=10**9, progress=interrupt)
    assert (tmp_path / "1.vital").read_bytes() == WHOLE
    assert (tmp_path / "2.vital.part").read_bytes() == WHOLE[:50_000]
    plan(server, 2, "ok")
    report = download_cases([1, 2], tmp_path, base_url=server.url)
    assert (report.present, report.fetched) == ([1], [2])
    assert requests_of(server, 2)[-1] == ("ok", "bytes=50000-")


def test_what_the_file_system_says_is_not_taken_for_the_network(server, tmp_path):
    (tmp_path / "1.vital.part").mkdir()
    with pytest.raises(OSError, match=r"1\.vital\.part"):
        download_cases([1], tmp_path, base_url=server.url)


@pytest.mark.parametrize("url", ["", "ftp://example.org", "api.example.org/1.0.1"])
def test_a_url_that_is_none_is_refused(tmp_path, url):
    with pytest.raises(UsageError, match="begins with http"):
        download_cases([1], tmp_path, base_url=url)
