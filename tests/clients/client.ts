// usage: client.js SERVER
// What a caller does, over the types that were generated from /openapi.json: push, a 429 and the wait, status, cancel,
// dead letter, replay. The same steps as client.py.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./dripfeed.js";

type Receipt = components["schemas"]["Receipt"];

const PATIENCE_MS = 60_000;
const client = createClient<paths>({ baseUrl: process.argv[2] });

function submit(bucket: string, header: Record<string, string> = {}) {
  return client.POST("/v1/buckets/{bucket}/jobs", { params: { path: { bucket }, header }, body: { tiger: 1 } });
}

/** Waits for room as long as the intake says. */
async function push(bucket: string, options: Record<string, string> = {}): Promise<Receipt> {
  const header = { "Idempotency-Key": `typescript-${process.hrtime.bigint()}`, ...options };
  for (const begun = Date.now(); Date.now() - begun < PATIENCE_MS; ) {
    const { data, error } = await submit(bucket, header);
    if (data) return data as Receipt;
    assert(error && error.code === "bucket_full");
    await sleep(Math.min(error.retry_after_ms ?? 1000, PATIENCE_MS));
  }
  throw new Error(`${bucket} has no room`);
}

async function ended(bucket: string, id: string): Promise<string> {
  for (const begun = Date.now(); Date.now() - begun < PATIENCE_MS; await sleep(50)) {
    const { data } = await client.GET("/v1/buckets/{bucket}/jobs/{id}", { params: { path: { bucket, id } } });
    assert(data);
    if (!["waiting", "in_flight", "parked"].includes(data.state)) return data.state;
  }
  throw new Error(`${id} doesn't end`);
}

const receipt = await push("orders");
assert(receipt.bucket === "orders" && receipt.level >= 1);
assert.equal(await ended("orders", receipt.id), "delivered");

const first = await push("small");
const refused = await submit("small");
assert.equal(refused.response.status, 429);
assert(Number(refused.response.headers.get("Retry-After")) >= 1);
assert.equal(refused.error?.code, "bucket_full");
const second = await push("small");
assert.notEqual(second.id, first.id);
assert.equal(await ended("small", second.id), "delivered");

const parked = await push("orders", { "Dripfeed-Delay": "1h" });
const path = { bucket: "orders", id: parked.id };
const cancelled = await client.DELETE("/v1/buckets/{bucket}/jobs/{id}", { params: { path } });
assert.equal(cancelled.response.status, 204);
assert.equal(await ended("orders", parked.id), "cancelled");

const batch = await client.POST("/v1/buckets/{bucket}/jobs/batch", {
  params: { path: { bucket: "orders" } },
  body: [
    { body: 1 },
    { body: 2, options: { method: "CONNECT" } },
    { body_base64: "AAEC", content_type: "application/octet-stream" },
  ],
});
const [admitted, bad, bytes] = batch.data?.items ?? [];
assert(admitted && "id" in admitted);
assert(bad && "problem" in bad && bad.problem.code === "bad_option");
assert(bytes && "id" in bytes);
assert.equal(await ended("orders", bytes.id), "delivered");

const dead = await push("broken");
assert.equal(await ended("broken", dead.id), "dead");
const letters = await client.GET("/v1/buckets/{bucket}/dead", { params: { path: { bucket: "broken" } } });
const letter = letters.data?.items.find((letter) => letter.id === dead.id);
assert.equal(letter?.outcome.status, 404);
const replayed = await client.POST("/v1/buckets/{bucket}/dead/{id}/replay", {
  params: { path: { bucket: "broken", id: dead.id } },
});
assert(replayed.data && replayed.data.id !== dead.id);
assert.equal(await ended("broken", replayed.data.id), "dead");
console.log("typescript: push, 429 and wait, status, cancel, batch, dead letter, replay");
