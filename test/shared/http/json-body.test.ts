import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { InvalidInput } from "../../../shared/core/errors.ts";
import { checkFit } from "../../../shared/http/json-body.ts";
import { eventOf, handlerOf, request } from "../../support/request.ts";
import { newAccount, type Account } from "../../support/world.ts";

/** The errors of a JSON text. Throws if the text is not JSON. */
const errorsOf = (text: string) => {
  JSON.parse(text);
  try {
    checkFit(text);
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.errors;
    throw error;
  }
};
const placesOf = (text: string) => errorsOf(text).map(({ loc }) => loc.join("."));

const feedback = (attributes: string) =>
  `{"category":"other","title":"T","description":"D","attributes":${attributes}}`;
const send = async (account: Account, body: string, headers: Record<string, string> = {}) =>
  request("POST", `/v1/public/accounts/${account.id}/feedback`, { token: account.owner.token, body, headers });

describe("bytes", () => {
  const nameOf = (bytes: number[]) => Buffer.concat([Buffer.from('{"name":"x'), Buffer.from(bytes), Buffer.from('"}')]);

  async function sendBytes(body: Buffer, given: (base64: string) => { body: string; isBase64Encoded: boolean }) {
    const account = await newAccount();
    const path = `/v1/public/accounts/${account.id}/workspaces`;
    const event = eventOf("POST", path, { token: account.owner.token, body: "{}" });
    const handler = await handlerOf({ file: "functions/workspaces/add.ts" });
    const headers = { ...event.headers, "content-length": String(body.length) };
    const answer = await handler({ ...event, headers, ...given(body.toString("base64")) });
    const { total } = (await request("GET", path, { token: account.owner.token })).body;
    return { status: answer.statusCode, body: JSON.parse(answer.body ?? ""), total };
  }

  test.each([[[0xff]], [[0xc0, 0xaf]], [[0xed, 0xa0, 0x80]], [[0xf0, 0x9f, 0x98]], [[0xe9]]])(
    "%j are not UTF-8, and get a 400",
    async (bytes) => {
      const { body, total } = await sendBytes(nameOf(bytes), (base64) => ({ body: base64, isBase64Encoded: true }));
      expect(body).toMatchObject({ status: 400, code: "malformed_json" });
      expect(total).toBe(0);
    },
  );

  test("that the gateway replaced are noticed by the length of the request", async () => {
    const replaced = (base64: string) => ({
      body: Buffer.from(base64, "base64").toString("utf8"),
      isBase64Encoded: false,
    });
    expect((await sendBytes(nameOf([0xff]), replaced)).body).toMatchObject({ code: "malformed_json" });
    expect((await sendBytes(nameOf([0xef, 0xbf, 0xbd]), replaced)).status).toBe(201);
  });

  test("of UTF-8 are kept unchanged, as text and as base64", async () => {
    const name = nameOf([...Buffer.from("é字😀")]);
    const asText = await sendBytes(name, () => ({ body: name.toString(), isBase64Encoded: false }));
    const asBase64 = await sendBytes(name, (base64) => ({ body: base64, isBase64Encoded: true }));
    expect([asText.body.name, asBase64.body.name]).toEqual(Array(2).fill("xé字😀"));
  });
});

test.each([
  ["content-type", "application/json; charset=iso-8859-1"],
  ["content-type", 'application/json; charset="utf-16"'],
  ["content-type", "application/json;foo=bar;Charset=latin1"],
  ["content-encoding", "gzip"],
  ["content-encoding", "identity, br"],
])("a body of %s: %s is answered with 415", async (name, value) => {
  const account = await newAccount();
  const { body, headers } = await send(account, feedback("{}"), { [name]: value });
  expect(body).toMatchObject({ status: 415, code: "unsupported_media_type" });
  expect(headers["accept-encoding"]).toBe(name === "content-encoding" ? "identity" : undefined);
});

test.each([
  ["content-type", "application/json; charset=UTF-8"],
  ["content-type", 'application/json;charset="utf-8"'],
  ["content-encoding", "identity"],
])("a body of %s: %s is read", async (name, value) => {
  expect((await send(await newAccount(), feedback("{}"), { [name]: value })).status).toBe(201);
});

test.each(["1e309", "-1e400", "12345678901234567890", "0.1234567890123456789", "1e-400", "9007199254740993"])(
  "the number %s gets a 422 with its place, because a double cannot hold its exact value",
  async (digits) => {
    const { status, body } = await send(await newAccount(), feedback(`{"a":[{"b":0},{"b":${digits}}]}`));
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", "attributes", "a", 1, "b"], type: "number_not_kept" }]);
  },
);

test("half a surrogate pair gets a 422 with its place, and a whole pair is kept", async () => {
  const account = await newAccount();
  const { body } = await send(account, feedback('{"a":"\\ud83d","b":"\\ud83d\\ude00","c":{"\\ude00":1}}'));
  expect(body.detail.map(({ loc }: { loc: string[] }) => loc.slice(1))).toEqual([
    ["attributes", "a"],
    ["attributes", "c", "\ude00"],
  ]);
  expect((await send(account, feedback('{"b":"\\ud83d\\ude00"}'))).body.attributes).toEqual({ b: "😀" });
});

test("a number that a double cannot hold gets the same error in a member with a type of its own, such as an amount", async () => {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/billing/topup-session`;
  const { body } = await request("POST", path, { token: account.owner.token, body: '{"amount":1e309}' });
  expect(body.detail).toMatchObject([{ loc: ["body", "amount"], type: "number_not_kept" }]);
});

test("any output of JSON.stringify is accepted", () => {
  const values = fc.jsonValue({ maxDepth: 6 }).map((value) => JSON.stringify(value));
  fc.assert(
    fc.property(values, fc.constantFrom("", " ", "\n"), (text, gap) => {
      expect(errorsOf(`${gap}${text}${gap}`)).toEqual([]);
    }),
  );
});

test("every double is accepted as JavaScript writes it, and a number with more digits than a double has is refused", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      for (const digits of [String(value), value.toExponential(), JSON.stringify([value, { a: value }])]) {
        expect(errorsOf(digits)).toEqual([]);
      }
    }),
  );
  fc.assert(
    fc.property(fc.bigInt({ min: 10n ** 17n, max: 10n ** 40n }), (value) => {
      expect(errorsOf(`${value}7`)).toHaveLength(1);
      expect(errorsOf(`0.${value}7`)).toHaveLength(1);
    }),
  );
});

test("the error for a number that a double cannot hold has the place of the number, whatever is around it", () => {
  const key = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(fc.array(fc.oneof(key, fc.integer({ min: 0, max: 3 })), { maxLength: 10 }), (path) => {
      let text = "1e999";
      for (const step of path.toReversed()) {
        text =
          typeof step === "number"
            ? `[${'["]",{"a":"\\\\"}],'.repeat(step)}${text}]`
            : `{"x,":{"y":[1,{}]},${JSON.stringify(step)}:${text}}`;
      }
      expect(errorsOf(text)).toMatchObject([{ loc: ["body", ...path] }]);
    }),
  );
});

test("very long and very deep texts are checked, and at most 100 errors are returned", () => {
  expect(errorsOf(`["${'\\"'.repeat(400_000)}",1e5]`)).toEqual([]);
  const deep = "[".repeat(2_000);
  expect(placesOf(`${deep}${"1e999,".repeat(200)}1${"]".repeat(2_000)}`)).toHaveLength(100);
});
