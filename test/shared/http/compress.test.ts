import { brotliDecompressSync, gunzipSync } from "node:zlib";

import fc from "fast-check";
import { expect, test } from "vitest";

import { codingFor, compressed } from "../../../shared/http/negotiation.ts";
import { json } from "../../../shared/http/response.ts";
import { eventOf, handlerOf, request } from "../../support/request.ts";
import { newAccount } from "../../support/world.ts";

test.each([
  ["gzip", "gzip"],
  ["gzip, deflate, br", "br"],
  ["gzip;q=1, br;q=0.5", "gzip"],
  ["br;q=0.5, *", "gzip"],
  ["*", "br"],
  ["*;q=0", undefined],
  ["br;q=0, gzip;q=0", undefined],
  ["identity", undefined],
  ["identity;q=0.5, gzip;q=0.4", undefined],
  ["identity;q=0.5, gzip;q=0.6", "gzip"],
  ["deflate, zstd", undefined],
  ["gzip;q=2", undefined],
  ["gzip;q=x, br;q=0.001", "br"],
  ["GZIP ; Q=0.3", "gzip"],
  ["", undefined],
  [",,", undefined],
])("for `Accept-Encoding: %s` the coding is %s", (field, coding) => expect(codingFor(field)).toBe(coding));

const decoders = { br: brotliDecompressSync, gzip: gunzipSync };

test("a compressed answer has the same text, and names its coding; a short answer stays as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 3_000 }), fc.constantFrom("br", "gzip"), (text, coding) => {
      const plain = json(200, { text });
      const { body = "", headers, isBase64Encoded } = compressed(plain, coding);
      const isLong = Buffer.byteLength(plain.body ?? "") > 1_024;
      expect([headers?.["content-encoding"], headers?.["vary"]]).toEqual(
        isLong ? [coding, "accept-encoding"] : [undefined, undefined],
      );
      expect(isBase64Encoded === true).toBe(isLong);
      const read = isLong ? decoders[coding as "br"](Buffer.from(body, "base64")).toString() : body;
      expect(read).toBe(plain.body);
    }),
  );
});

test("an image is not compressed, and an uncompressed answer has Vary", () => {
  const image = { statusCode: 200, headers: { "content-type": "image/png" }, body: "A".repeat(4_000) };
  expect(compressed(image, "gzip")).toEqual(image);
  const text = json(200, "x".repeat(2_000));
  expect(compressed(text)).toEqual({ ...text, headers: { ...text.headers, vary: "accept-encoding" } });
});

test("the OpenAPI document and the answer of a route are compressed, and the tag does not depend on the coding", async () => {
  const plain = await request("GET", "/v1/public/openapi.json");
  const handler = await handlerOf({ file: "functions/docs.ts" });
  const event = eventOf("GET", "/v1/public/openapi.json", { headers: { "accept-encoding": "br" } });
  const { body = "", headers } = await handler(event);
  expect(headers).toMatchObject({ "content-encoding": "br", etag: plain.headers["etag"], vary: "accept-encoding" });
  expect(brotliDecompressSync(Buffer.from(body, "base64")).toString()).toBe(plain.text);
  expect(body.length).toBeLessThan(plain.text.length / 5);

  const { owner } = await newAccount();
  const sent = { token: owner.token, headers: { "accept-encoding": "gzip" } };
  const list = await request("GET", "/v1/public/functions", sent);
  expect(list.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  expect(list.body.functions.length).toBeGreaterThan(50);
});
