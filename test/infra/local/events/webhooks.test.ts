import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";

import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";

import { newFolder } from "../../../support/folder.ts";
import { listen } from "../../../support/listen.ts";
import { startMain, type Product } from "../product.ts";

type Delivery = { headers: IncomingHttpHeaders; body: string };

/** A receiver on this machine that accepts everything. `next` resolves with the next delivery. */
async function receiver(): Promise<{ url: string; next: () => Promise<Delivery> }> {
  const server = createServer();
  const url = `http://127.0.0.1:${await listen(server)}/hook`;
  const next = async (): Promise<Delivery> => {
    const [request, response] = await once(server, "request");
    const body = await text(request);
    response.writeHead(204).end();
    return { headers: request.headers, body };
  };
  return { url, next };
}

async function send(product: Product, method: string, path: string, body: unknown): Promise<Record<string, string>> {
  const account = "11111111-1111-4111-8111-111111111111";
  const answer = await fetch(`${product.baseUrl}/v1/public/accounts/${account}${path}`, {
    method,
    headers: { authorization: `Bearer ${product.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBeLessThan(300);
  return JSON.parse(await answer.text());
}

/** Returns the event in a delivery that was signed with the secret. Throws for any other delivery. */
const verified = (secret: string | undefined, { headers, body }: Delivery): unknown =>
  new Webhook(secret ?? "").verify(body, headers as Record<string, string>);

test("a change reaches a webhook on this machine with a signature, also if the product is killed just after the change", async () => {
  const env = { DATA_DIR: newFolder() };
  const { url, next } = await receiver();
  const first = await startMain(env);
  const { secret } = await send(first, "POST", "/webhooks", { url, event_types: ["workspace.*"] });
  const created = next();
  const { id } = await send(first, "POST", "/workspaces", { name: "Signed" });
  expect(verified(secret, await created)).toMatchObject({ type: "workspace.created", data: { id, name: "Signed" } });
  const updated = next();
  await send(first, "PATCH", `/workspaces/${id}`, { name: "Last words" });
  first.child.kill("SIGKILL");
  await first.exit();
  await startMain(env);
  expect(verified(secret, await updated)).toMatchObject({ type: "workspace.updated", data: { name: "Last words" } });
});
