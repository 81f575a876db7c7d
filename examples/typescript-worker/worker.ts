// A worker in TypeScript: it counts the words of each item's text, over HTTP, until nothing is left to do.
//   rowlock up                       in another terminal
//   npm ci && npm run generate       the types of the service, from its OpenAPI document
//   npm run build && npm start LIST
// ROWLOCK_SERVER and ROWLOCK_TOKEN name the service and a token of the role worker.
import { hostname } from "node:os";
import createClient from "openapi-fetch";
import type { components, paths } from "./rowlock.js";

type Schemas = components["schemas"];
const EXPIRY_SECONDS = 60;
const list = process.argv[2] ?? "texts";
const token = process.env.ROWLOCK_TOKEN;
const baseUrl = process.env.ROWLOCK_SERVER ?? "http://127.0.0.1:8642";
const headers = { Accept: "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
const service = createClient<paths, "application/json">({ baseUrl, headers });

function read<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

// The work itself: what it returns is kept as the result; an error is one failed attempt.
function count(item: Schemas["Item"]): { words: number } {
  const { text } = (item.data ?? {}) as { text?: string };
  if (text === undefined) throw new Error("there is no text");
  return { words: text.split(/\s+/).filter(Boolean).length };
}

const options = { holder: `typescript ${hostname()} ${process.pid}`, expiry: `${EXPIRY_SECONDS}s` };
const { session } = read(await service.POST("/v1/sessions", { body: options }));
const beat = () => service.PUT("/v1/sessions/{session}", { params: { path: { session } }, body: {} });
const heartbeat = setInterval(() => beat().catch(console.error), (EXPIRY_SECONDS / 3) * 1000);
const wanted = { session, limit: 100, wait: "1s" };
let stopping = false;
process.once("SIGTERM", () => (stopping = true)).once("SIGINT", () => (stopping = true));
while (!stopping) {
  const params = { path: { list } };
  const { claim, items } = read(await service.POST("/v1/lists/{list}/claims", { params, body: wanted }));
  if (claim === null) {
    const { counts } = read(await service.GET("/v1/lists/{list}", { params }));
    const { ready = 0, delayed = 0, gated = 0, claimed = 0 } = counts;
    if (ready + delayed + gated + claimed === 0) break;
    continue;
  }
  const done: Schemas["DoneItem"][] = [];
  const retry: Schemas["RetryItem"][] = [];
  for (const item of items) {
    try {
      done.push({ key: item.key, result: count(item) });
    } catch (error) {
      retry.push({ key: item.key, error: String(error) });
    }
  }
  // Refused if the session has expired: others have the items then, and nothing is written.
  const body = { session, done, retry, close: true };
  read(await service.PUT("/v1/claims/{claim}", { params: { path: { claim } }, body }));
}
clearInterval(heartbeat);
await service.DELETE("/v1/sessions/{session}", { params: { path: { session } } });
