"""Where the bytes lie: nothing stays that no version needs, whatever is killed, in a folder and in S3."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from io import BytesIO

import boto3
import httpx
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, storages
from moto.server import ThreadedMotoServer

from apps.core import times
from apps.core.errors import DomainError
from apps.threads import blobs
from apps.threads.models import StoredBlob
from tests.files.world import download, put, rows, stored, upload, used_keys
from tests.harness.cast import Cast
from tests.harness.service import Service, Starter
from tests.harness.wait import until


def keys(folder: str = "") -> set[str]:
    """All keys of the storage in this process."""
    folders, files = storages["default"].listdir(folder)
    here = {f"{folder}/{name}".lstrip("/") for name in files}
    return here.union(*(keys(f"{folder}/{name}".lstrip("/")) for name in folders))


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> InMemoryStorage:
    storage = InMemoryStorage()
    monkeypatch.setitem(storages._storages, "default", storage)
    return storage


def due() -> None:
    StoredBlob.objects.update(drop_at=times.now())


@pytest.mark.django_db
@pytest.mark.usefixtures("memory")
def test_bytes_that_no_version_took_are_dropped() -> None:
    with blobs.stored(BytesIO(b"x")) as blob:
        assert keys() == {blob.key}
        blobs.drop_due()
        assert keys() == {blob.key}  # its time has not come
    assert keys() == set()
    assert not StoredBlob.objects.exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("memory")
def test_what_is_dropped_is_taken_no_more() -> None:
    with blobs.stored(BytesIO(b"x")) as blob:
        due()
        blobs._claim()  # a job is about to drop it
        with pytest.raises(DomainError):
            blob.take()
    assert keys() == set()


@pytest.mark.django_db
def test_the_job_drops_what_is_due_and_keeps_what_fails(
    memory: InMemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        memory.save(f"aa/{n}", ContentFile(b"x"))
    blobs.release([f"aa/{n}" for n in range(3)])
    blobs.release(["aa/0", "aa/never-stored"])
    good = memory.delete

    def failing(name: str) -> None:
        if name == "aa/1":
            raise OSError("away")
        good(name)

    monkeypatch.setattr(memory, "delete", failing)
    blobs.drop_due()
    assert "aa/1" in keys()
    assert StoredBlob.objects.filter(key="aa/1", drop_at__gt=times.now()).exists()
    monkeypatch.setattr(memory, "delete", good)
    due()
    blobs.drop_due()
    blobs.drop_due()
    assert keys() == set()
    assert not StoredBlob.objects.exists()


def test_a_storage_that_fails_is_503_and_leaves_nothing(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_FILES_BUCKET="b", RELAYGER_FILES_ENDPOINT="http://127.0.0.1:9", **KEYS)
    cast = Cast(service)
    alice, bob = cast.friends
    response = upload(alice, bob.number)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "unavailable")
    assert int(response.headers["retry-after"]) > 0
    assert alice.call("GET", f"/v1/chats/{bob.number}/files")["items"] == []
    cast.close()


@pytest.mark.faults
def test_kill_while_files_arrive(fresh_server: Starter) -> None:
    service = fresh_server(jobs=True, RELAYGER_JOB_SECONDS="1", RELAYGER_MAX_TRANSFERS="20")
    cast = Cast(service)
    alice, bob = cast.friends
    answered: list[str] = []

    def uploads() -> None:
        with httpx.Client(base_url=service.origin, headers=alice.headers, timeout=30) as http:
            try:
                for n in range(100):
                    files = {"file": (f"{n}.bin", bytes([n]) * (3 << 20))}
                    response = http.post(f"/v1/chats/{bob.number}/files", files=files)
                    if response.status_code == 201:
                        answered.append(response.json()["file"]["id"])
            except httpx.HTTPError:
                pass

    threads = [threading.Thread(target=uploads) for _ in range(6)]
    for round in range(3):
        for thread in threads:
            thread.start()
        until(lambda: len(answered) > 8 * round + 4, 60, "some files")  # noqa: B023
        time.sleep(0.05 * round)
        service.kill()
        for thread in threads:
            thread.join()
        service.start()
        threads = [threading.Thread(target=uploads) for _ in range(6)]
    rows(service, "UPDATE threads_storedblob SET drop_at = '2020-01-01 00:00:00+00:00'")
    until(lambda: not rows(service, "SELECT key FROM threads_storedblob"), 30, "the job to drop what is left")
    assert stored(service) == used_keys(service)
    for file in answered:
        got = download(bob, file)
        assert (got.status_code, len(got.content)) == (200, 3 << 20)
    cast.close()


KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "RELAYGER_FILES_REGION": "us-east-1"}


@pytest.fixture
def s3() -> Iterator[str]:
    """The address of an S3 with the bucket `files`."""
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        yield address
    finally:
        server.stop()


def test_in_s3(s3: str, fresh_server: Starter) -> None:
    bucket = boto3.resource(
        "s3", endpoint_url=s3, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    ).create_bucket(Bucket="files")
    service: Service = fresh_server(RELAYGER_FILES_BUCKET="files", RELAYGER_FILES_ENDPOINT=s3, **KEYS)
    cast = Cast(service)
    alice, bob = cast.friends
    content = bytes(range(256)) * (40 << 10)  # 10 MiB, more than one piece of S3's client
    file = upload(alice, bob.number, content, "a.bin").json()["file"]
    small = put(alice, bob.number, b"small")
    assert download(bob, file["id"]).content == content
    assert bob.http.head(f"/v1/files/{file['id']}/content").headers["content-length"] == str(len(content))
    assert {one.key for one in bucket.objects.all()} == used_keys(service)
    alice.call("DELETE", f"/v1/files/{file['id']}")
    assert {one.key for one in bucket.objects.all()} == used_keys(service)
    assert len(used_keys(service)) == 1
    assert not stored(service)
    for one in bucket.objects.all():
        one.delete()
    assert download(bob, small["id"]).status_code == 503  # lost, and not by us
    cast.close()
