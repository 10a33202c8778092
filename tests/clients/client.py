"""usage: client.py SERVER

What a caller does, by the client that was generated from /openapi.json: push, a 429 and the wait, status, cancel, dead
letter, replay. The same steps as client.ts."""

import sys
import time

from dripfeed_client import Client
from dripfeed_client.api.dead_letters import list_dead_letters, replay_dead_letter
from dripfeed_client.api.jobs import cancel_job, get_job, submit_batch, submit_job
from dripfeed_client.models import BatchBytesItem, BatchItemAdmitted, BatchItemRefused, BatchJsonItem, BatchOptions
from dripfeed_client.models import Problem, Receipt

PATIENCE_S = 60
client = Client(base_url=sys.argv[1])


def push(bucket: str, **options) -> Receipt:
    """Waits for room as long as the intake says."""
    key = f"python-{time.time_ns()}"
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE_S:
        answer = submit_job.sync(bucket, client=client, body={"tiger": 1}, idempotency_key=key, **options)
        if isinstance(answer, Receipt):
            return answer
        assert answer.code == "bucket_full", answer
        time.sleep(min(answer.retry_after_ms / 1000, PATIENCE_S))
    raise SystemExit(f"{bucket} has no room for {PATIENCE_S} s")


def ended(bucket: str, job: str) -> str:
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE_S:
        state = get_job.sync(bucket, job, client=client).state
        if state not in ("waiting", "in_flight", "parked"):
            return state
        time.sleep(0.05)
    raise SystemExit(f"{job} doesn't end within {PATIENCE_S} s")


receipt = push("orders")
assert receipt.bucket == "orders" and receipt.level >= 1, receipt
assert ended("orders", receipt.id) == "delivered"

first = push("small")
refused = submit_job.sync_detailed("small", client=client, body={"tiger": 2})
assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1, refused
assert isinstance(refused.parsed, Problem) and refused.parsed.code == "bucket_full", refused.parsed
second = push("small")
assert second.id != first.id and ended("small", second.id) == "delivered"

parked = push("orders", dripfeed_delay="1h")
assert cancel_job.sync_detailed("orders", parked.id, client=client).status_code == 204
assert ended("orders", parked.id) == "cancelled"

items = [BatchJsonItem(body=1), BatchJsonItem(body=2, options=BatchOptions(method="CONNECT"))]
items.append(BatchBytesItem(body_base64="AAEC", content_type="application/octet-stream"))
batch = submit_batch.sync("orders", client=client, body=items)
assert isinstance(batch.items[0], BatchItemAdmitted) and isinstance(batch.items[1], BatchItemRefused), batch
assert batch.items[1].problem.code == "bad_option", batch
assert ended("orders", batch.items[2].id) == "delivered"

dead = push("broken")
assert ended("broken", dead.id) == "dead"
letters = list_dead_letters.sync("broken", client=client).items
assert [letter.outcome.status for letter in letters if letter.id == dead.id] == [404], letters
replayed = replay_dead_letter.sync("broken", dead.id, client=client)
assert replayed.id != dead.id and ended("broken", replayed.id) == "dead", replayed
print("python: push, 429 and wait, status, cancel, batch, dead letter, replay")
