import { expect, test } from "vitest";

import { signer } from "../../../shared/table/signature.ts";

const post = {
  host: "dynamodb.eu-west-1.amazonaws.com",
  headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.GetItem" },
  body: '{"TableName":"täst"}',
};
const credentials = { accessKeyId: "AKID", secretAccessKey: "s3cr3t/+" };
const now = new Date("2026-03-04T05:06:07.890Z");
const scope = "Credential=AKID/20260304/eu-west-1/dynamodb/aws4_request";

test("`signer` makes the same headers as the package aws4", () => {
  expect(signer("dynamodb", "eu-west-1")(post, credentials, now)).toEqual({
    ...post.headers,
    host: post.host,
    "content-length": "21",
    "x-amz-date": "20260304T050607Z",
    authorization: `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=content-length;content-type;host;x-amz-date;x-amz-target, Signature=37e9902be12d2db5f081ba8bc73352114196b2890b1989e990f174cebe967078`,
  });
});

test("`signer` also signs the token of temporary credentials", () => {
  const signed = signer("dynamodb", "eu-west-1")(post, { ...credentials, sessionToken: "tok/en==" }, now);
  expect(signed["x-amz-security-token"]).toBe("tok/en==");
  expect(signed["authorization"]).toBe(
    `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=content-length;content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature=440fc26cc38eeb0d6b2f16853000503dfe561e62f44860bdd66d3a73ee6be5e4`,
  );
});

test("another day, secret or body changes the signature, and the same request has the same signature again", () => {
  const sign = signer("dynamodb", "eu-west-1");
  const signatureOf = (...[what, by, at]: Parameters<typeof sign>) => sign(what, by, at)["authorization"];
  const first = signatureOf(post, credentials, now);
  const others = [
    signatureOf(post, credentials, new Date("2026-03-05T05:06:07Z")),
    signatureOf(post, { ...credentials, secretAccessKey: "other" }, now),
    signatureOf({ ...post, body: "{}" }, credentials, now),
  ];
  expect(new Set([first, ...others]).size).toBe(4);
  expect(signatureOf(post, credentials, now)).toBe(first);
});
